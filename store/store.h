/* Writing the run store: model_dir/run.db (SQLite, see store/schema.sql) is the record of a run,
 * and every change is published as an event.
 *
 * One process writes: the run's coordinator, which holds model_dir/run.lock while it lives. Rows
 * are copied into a bounded queue, and the store's own thread writes them a few times a second; no
 * call waits for a disk, and a step's values cost well under a microsecond. When the queue is
 * full, samples (timeline, kernels, topology, numerics) are dropped first, then points, closures
 * and log lines, each counted and noted in a `gap` event; transitions, checkpoints, artefacts and
 * keys of the run never are. When the disk is full or broken, training goes on: rows wait in
 * memory, a log line warns, and they are written when there is room again.
 *
 * Keys of the table `run` that csengine sets: id, name, created_ms, model, optimizer,
 * config_digest, csengine_version, host, pid (of the coordinator), first_pid (of the process that
 * starts another coordinator; 0: none does), control_endpoint, events_endpoint, attempt, state,
 * last_step, run_last_step, batch_size, micro_batch_size, num_csx, seed, labels (JSON), compiled
 * (JSON), waiting_for, phase (JSON, as the event), hosts (JSON: run/record/membership_events.h),
 * dropped_series (named values that a step has beyond those recorded); of a fork (store/fork.h)
 * also forked_from (absolute model_dir of the run whose past it shares) and forked_at (the last
 * such step).
 *
 * Events go to the table `events` and, with the same ids, over a ZeroMQ PUB socket as two frames:
 * the type and {"id":..,"time_ms":..,"type":..,"payload":..}. Payloads:     state, closure,
 * checkpoint, log   the row of that table, column names as keys     topology
 * what cse_store_topology was given     phase     what the run does, and recoveries: see
 * store/phase_report.h     metric
 * {"attempt":1,"series":{"loss":[[step,time_ms,value],...],...}}: all points since
 * the last one     numerics  {"attempt":1,"step":..,"tensors":..}: these rows are there now
 * alert     {"condition":..,"values":..,"begins":true,"step":..,"time_ms":..}     membership  a
 * process that was replaced, a host that left or joined: see
 * run/record/membership_events.h     audit     a process that computed other bits than others: see
 * run/record/recorder.c     damaged   {"why":..,"set_aside":..,"kept":..,"incomplete":..}: run.db
 * was replaced     gap       {"points":..,"logs":..,"closures":..,"samples":..}: so many were
 * dropped
 *
 * Every function but open accepts a store that is NULL, and then does nothing. All may be called
 * from any thread. */
#ifndef CSE_STORE_STORE_H
#define CSE_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/log.h"
#include "store/options.h"
#include "store/states.h"

typedef struct cse_store cse_store;

/* Takes the lock, creates or opens run.db, and begins the next attempt. `model_dir` must exist. If
 * the last attempt's process ended without a terminal state, that becomes FAILED, INTERRUPTED.
 * CSE_TEMPORARY when a run of this model_dir is under way, CSE_DATA when run.db is something else
 * or of a newer version, CSE_IO, CSE_CANNOT_CREATE or CSE_PERMISSION when it cannot be written. */
cse_status cse_store_open(const char *model_dir, const cse_store_options *options,
                          cse_store **store);
/* Writes the remaining rows, as far as possible, and releases the lock. */
void cse_store_close(cse_store **store);

/* Returns when everything reported before is written. CSE_IO when it could not be. */
cse_status cse_store_flush(cse_store *store);

/* Everything of the steps below `mark` has been reported. Returns the highest mark of which
 * everything is written; while nothing can be written, the one given: rows wait in memory then.
 * `hurry`: writes soon. */
int64_t cse_store_kept(cse_store *store, int64_t mark, bool hurry);

/* The number of this attempt, counted from 1. */
int64_t cse_store_attempt(const cse_store *store);

/* Sets a key of the table `run`; `value` NULL: unknown. */
void cse_store_set(cse_store *store, const char *key, const char *value);
void cse_store_set_integer(cse_store *store, const char *key, int64_t value);

/* Changes the run's state; the only function that does. CSE_INTERNAL for a transition that is not
 * in store/states.h. The current state again is no change. `reason`: a name in the table of
 * reasons, or "". */
cse_status cse_store_transition(cse_store *store, cse_run_state to, const char *reason,
                                const char *message);
cse_run_state cse_store_state(cse_store *store);

/* What the run does while its state lets it: the phase follows from both (store/states.h). */
typedef struct cse_activity {
    cse_run_phase phase; /* TRAIN, VALIDATE or SAVE */
    int64_t step, steps; /* of a validation: batches done, and all; 0 otherwise */
} cse_activity;
void cse_store_activity(cse_store *store, const cse_activity *activity);

/* A process was lost and another has taken its place. */
typedef struct cse_recovery {
    const char *process, *reason; /* "replica 0", "was killed by signal 9" */
    int64_t lost_ms;              /* when its end was noticed */
    int64_t milliseconds;         /* until the new process was ready */
} cse_recovery;
void cse_store_recovery(cse_store *store, const cse_recovery *recovery);

/* The number of a series of points, which is created at its first use. */
int cse_store_series(cse_store *store, const char *name);
typedef struct cse_step_points {
    int64_t step;
    int64_t time_ms; /* 0: now */
    int count;
    const int *series;
    const double *values;
} cse_step_points;
void cse_store_point(cse_store *store, int series, int64_t step, double value);
void cse_store_points(cse_store *store, const cse_step_points *points);

/* This attempt trains the steps from `step` on: what earlier attempts recorded of them, in any
 * table, is replaced (store/supersede.h). */
void cse_store_steps_from(cse_store *store, int64_t step);

typedef struct cse_closure_row {
    int64_t step, issued_ms, delivered_ms;
    const char *name;
    const char *payload; /* JSON */
} cse_closure_row;
void cse_store_closure(cse_store *store, const cse_closure_row *row);

typedef struct cse_checkpoint_row {
    int64_t step, bytes, write_ms;
    const char *path, *digest;
    bool verified;
} cse_checkpoint_row;
/* When the file is removed later, the store marks the row as deleted and sends the event again:
 * when an attempt begins, after the next checkpoint, or at the end. */
void cse_store_checkpoint(cse_store *store, const cse_checkpoint_row *row);

void cse_store_log(cse_store *store, const cse_log_record *record);

/* An event of any other type; `payload` is JSON. */
void cse_store_event(cse_store *store, const char *type, const char *payload);

typedef struct cse_tensor_row {
    const char *name, *scope, *op;
    const char *kind; /* "cast", "gradient", "weight", "state", "observed" */
    const char *source_dtype, *dtype;
    bool backward;
    const char *file;
    int line;
} cse_tensor_row;
/* Returns the tensor's number, for its rows of numerics. */
int64_t cse_store_tensor(cse_store *store, const cse_tensor_row *row);

typedef struct cse_numerics_row {
    int64_t tensor, step;
    int64_t count, nan, inf, saturated, flushed, zeros, absorbed;
    int64_t max_exponent, first_microbatch;
    const void *digest; /* 8 bytes, or NULL */
    const void *histogram;
    size_t histogram_bytes;
} cse_numerics_row;
void cse_store_numerics(cse_store *store, const cse_numerics_row *row);

typedef struct cse_span {
    int64_t step;
    const char *process; /* "replica 0" */
    const char *kind;    /* "wait", "compute", "reduce", "weights", "update", "fill", "save" */
    int64_t start_ns, end_ns;
} cse_span;
void cse_store_timeline(cse_store *store, const cse_span *spans, int count);

typedef struct cse_kernel_row {
    int64_t step;
    const char *process; /* "replica 0" */
    int64_t kernel;      /* index in the graph's groups */
    int64_t calls;       /* in this step, by this process */
    int64_t total_ns, min_ns, median_ns;
} cse_kernel_row;
void cse_store_kernel(cse_store *store, const cse_kernel_row *row);

/* `payload` is JSON. */
void cse_store_topology(cse_store *store, const char *payload);

/* Where the time of this attempt went until `time_ms`; replaces what was told before. The columns
 * are those of the table, their words those of run/record/goodput.h. */
typedef struct cse_goodput_row {
    int64_t start_ms, time_ms;
    int64_t starting_ms, compute_ms, input_ms, update_ms, communication_ms;
    int64_t save_ms, validation_ms, recovery_ms, paused_ms, idle_ms;
} cse_goodput_row;
void cse_store_goodput(cse_store *store, const cse_goodput_row *row);

/* A step of training in the chain of digests, counted from 1; and what else enters the chain from a
 * step on. */
typedef struct cse_chain_row {
    int64_t step;
    const unsigned char *states, *samples, *chain; /* 16, 16 and 32 bytes */
} cse_chain_row;
void cse_store_chain(cse_store *store, const cse_chain_row *row);
void cse_store_chain_links(cse_store *store, int64_t step, const unsigned char before[32],
                           const char *links);

cse_store_past cse_store_past_of(const cse_store *store);

void cse_store_artefact(cse_store *store, const char *name, const char *media_type,
                        const void *content, size_t size);

#endif
