/* Interface between a run and its caller: events, callbacks, and the result.
 *
 * Events (cse_run_events) only inform; they do not influence training. Callbacks
 * (cse_run_callbacks) take part in the run: they consume records and snapshots, and their results
 * control it. All are called in the coordinator's thread. */
#ifndef CSE_WORKERS_CONTROL_RUN_EVENTS_H
#define CSE_WORKERS_CONTROL_RUN_EVENTS_H

#include <stdbool.h>

#include "csengine/status.h"
#include "workers/arena/record.h"
#include "workers/arena/timing.h"

/* What a run is doing. */
typedef enum cse_phase {
    CSE_PHASE_STARTING, /* processes start and load */
    CSE_PHASE_RUNNING,
    CSE_PHASE_PAUSING, /* an operator asked for a pause: the step in flight is finished */
    CSE_PHASE_PAUSED,
    CSE_PHASE_RECOVERING, /* a process was lost and is being replaced */
    CSE_PHASE_CANCELLING, /* ends on request */
} cse_phase;

/* A process that was lost and replaced. */
typedef struct cse_process_recovery {
    const char *process;       /* "replica 0" */
    const char *reason;        /* "was killed by signal 9 (Killed)" */
    int64_t lost_ns, ready_ns; /* its end was noticed; its successor was ready (cse_clock_ns) */
} cse_process_recovery;

/* A process whose gradients of a microbatch have other bits than those of others: see
 * workers/arena/audit.h. */
typedef struct cse_audit_report {
    const char *host, *process; /* "replica 0" */
    int process_id, core;
    int64_t step; /* as records count, from 1 */
    int microbatch;
    int64_t confirmed_step; /* the last one in which bits of it were confirmed; 0: none */
    bool undecided;         /* it, or the other: who is wrong cannot be told */
    const char *text;       /* a sentence for people */
} cse_audit_report;

/* Each may be NULL. */
typedef struct cse_run_events {
    void *self; /* first argument of each */
    /* The phase changed; `message` gives the reason, or "". */
    void (*on_phase)(void *self, cse_phase phase, const char *message);
    /* After the phase that follows from it was reported. */
    void (*on_recovery)(void *self, const cse_process_recovery *recovery);
    /* An audit has found a process wrong. */
    void (*on_audit)(void *self, const cse_audit_report *report);
    /* An operator changed how many replicas share a step. */
    void (*on_scale)(void *self, int num_csx);
    /* The endpoint for operators; NULL: closed. */
    void (*on_endpoint)(void *self, const char *endpoint);
    /* What processes do and how full the streams between them are, as JSON: about twice a second,
     * and when a process is lost, started again or ready again. Shares of time are those since the
     * report before, `interval_ms` ago; steps and epochs count from 1, microbatches and samples
     * from 0.
     *     {"step", "interval_ms", "steps_per_second", "microbatches", "replicas",
     *      "data": {"input", "source", "samples"},
     *      "ring": {"capacity", "filled", "filling"},
     *      "processes": [{"name", "role", "rank", "pid", "incarnation", "state", "busy", "idle",
     *                     "back_pressured", "input_wait", "step", "microbatch",
     *                     of an input worker: "epoch", "sample", of a replica: "fed_by"}],
     *      "streams": [{"name", "from", "to", "payload", "depth", "capacity", "credits",
     *                   "mb_per_second"}]} */
    void (*on_topology)(void *self, const char *json);
    /* The spans of a sampled step: about every 100th, but at most one per second and at least one
     * in five seconds. Steps that take tensor statistics are skipped where possible. */
    void (*on_spans)(void *self, const cse_process_span *spans, int count);
    /* The kernel times of the same step, process by process. */
    void (*on_kernels)(void *self, const cse_kernel_time *times, int count);
    const struct cse_run_events *next; /* told after these, or NULL */
} cse_run_events;

/* Reports an event to `events` (borrowed, or NULL) and to those that follow. */
#define CSE_RUN_EVENT(events, event, ...)                                                    \
    do {                                                                                     \
        for (const cse_run_events *cse_to = (events); cse_to != NULL; cse_to = cse_to->next) \
            if (cse_to->event != NULL)                                                       \
                cse_to->event(cse_to->self, __VA_ARGS__);                                    \
    } while (0)

typedef enum cse_stop_request {
    CSE_STOP_NONE,
    CSE_STOP_CHECKPOINT,
    CSE_STOP_NOW,
    CSE_STOP_EARLY, /* as CHECKPOINT, but nobody cancels the run, which may go on */
} cse_stop_request;

/* The states after `steps_done` steps, consistent, before any later update. */
typedef struct cse_snapshot {
    int64_t steps_done;
    bool ending;    /* the run was asked to end: its last snapshot */
    bool requested; /* an operator asked for a checkpoint */
} cse_snapshot;

/* CSE_SPACE_STATE as it stands in the arena. */
typedef struct cse_standing_states {
    int64_t steps_done;
    const unsigned char *states; /* constant during the call */
    bool last;                   /* constant and in place for the rest of the execution */
    bool ended;                  /* the execution's final states; the receiver may discard them */
} cse_standing_states;

/* Each may be NULL. A failure of on_record or on_snapshot ends the run with that status. */
typedef struct cse_run_callbacks {
    void *self; /* first argument of each */
    /* Writes the initial CSE_SPACE_STATE, which is zeroed, or as an inherited arena has it. */
    cse_status (*fill_states)(void *self, unsigned char *states);
    /* Behind fill_states: the chain of digests before the first step, CSE_CHAIN_BYTES, borrowed;
     * NULL: there is none, or the arena has it. */
    const unsigned char *(*begun_chain)(void *self);
    /* Whether the caller still reads the initial states, which no step changes until then; polled.
     * NULL: it does not. */
    bool (*holds_states)(void *self);
    /* The arena stands, with its states. The descriptor is borrowed. */
    void (*on_arena)(void *self, int descriptor);
    /* The states of a snapshot, before on_snapshot; training waits for it, and takes what it will
     * need later. At the end of an execution, its final states, when all its workers are gone;
     * after a failure only where they are those of a step. */
    void (*on_states)(void *self, const cse_standing_states *standing);
    /* In step order, while training goes on. */
    cse_status (*on_record)(void *self, const cse_record *record);
    /* Steps whose records need not be handed out again if this process dies; `hurry`: training will
     * soon wait for the others. NULL: all that were handed out. */
    int64_t (*kept_steps)(void *self, bool hurry);
    /* Of the steps that were committed, but not yet reported, when the run failed. */
    void (*on_late_record)(void *self, const cse_record *record);
    /* Called for each step for which `wants_snapshot` was true, for an operator's checkpoint, and
     * at the last step. Training waits only for on_states, which precedes the call. */
    cse_status (*on_snapshot)(void *self, const cse_snapshot *snapshot);
    bool (*wants_snapshot)(void *self, int64_t steps_done);
    /* Whether a snapshot can be taken now; polled where one is due. Until then the states stand
     * still, or, for a checkpoint that may be of any step, training goes on. NULL: always. */
    bool (*takes_snapshots)(void *self);
    /* At each turn while steps run. A failure ends the run with that status. */
    cse_status (*on_turn)(void *self);
    /* An operator wants other hosts: a list, "+NAME" or "-NAME". The run then stops early, by
     * stop_requested, and goes on with them. NULL: it cannot have others. */
    cse_status (*change_hosts)(void *self, const char *hosts);
    /* Whether a checkpoint is due, as if an operator had asked for one; polled. */
    bool (*checkpoint_due)(void *self);
    /* The stop that a signal or a user requested; polled. */
    cse_stop_request (*stop_requested)(void *self);
} cse_run_callbacks;

/* Microbatches that were audited, and computations of them that were found wrong. */
typedef struct cse_audit_counts {
    int64_t audited, unequal;
} cse_audit_counts;

typedef struct cse_run_result {
    int64_t steps_done;        /* first_step + steps that were committed */
    bool settled;              /* it failed, and its states are those after steps_done */
    bool stopped;              /* by a request, before num_steps */
    bool paused;               /* an operator paused it when all steps were done */
    double train_seconds;      /* from the first step's start to the last commit */
    double input_wait_seconds; /* summed over replicas: time without a filled ring slot */
    cse_audit_counts audits;
    cse_disk_load disk; /* of an arena in a file */
} cse_run_result;

/* What the executions of a run have counted, in the result of the last one. */
static inline void cse_run_result_sum(cse_run_result *result, cse_disk_load *disk,
                                      cse_audit_counts *audits)
{
    cse_disk_load_add(disk, &result->disk);
    audits->audited += result->audits.audited;
    audits->unequal += result->audits.unequal;
    result->disk = *disk;
    result->audits = *audits;
}

#endif
