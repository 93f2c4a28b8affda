/* The shared memory of one cluster on one host, as coordinator and workers see it.
 *
 * One memfd holds everything that a killed process must not take along: the words that say how far
 * each unit of work is, the states, gradients on their way, prefetched input, records for step
 * closures. The coordinator creates it and passes the descriptor; each worker maps it by that
 * descriptor and calls cse_work_once in a loop. No message carries payload or progress: control
 * messages only start, stop and report.
 *
 * The protocol (words, claims, stages, recovery) is described in workers/arena/word.h and
 * workers/arena/arena.h.
 *
 * Slots. Every worker process sits in one slot; slots are numbered replicas first, then weight
 * servers, then input workers. Steps are counted from 0 over the whole run ("step s" is the s-th);
 * "steps done" is a count, so it is also the number of the next step.
 *
 * Life of a run, in the coordinator:
 *
 *     cse_cluster_create(&options, &cluster);          one memfd, states copied in
 *     start worker i with descriptor cse_cluster_descriptor(cluster), cse_cluster_attach(cluster, i,
 * pid)
 *     cse_cluster_release(cluster, n);                 steps below n may change the states
 *     loop: cse_cluster_wait, cse_cluster_next_record -> callbacks -> cse_cluster_close_record
 *     cse_cluster_stop; wait for the processes; cse_cluster_destroy
 *
 * and in a worker:
 *
 *     cse_set_float_mode(); cse_cluster_map(descriptor, &cluster);
 *     cse_executable_open / cse_dataloader_open; cse_work_new(&work_options, &work);
 *     for (;;) switch (cse_work_once(work)) {
 *     case CSE_WORK_DONE: break;                       did something: look at control, go on
 *     case CSE_WORK_IDLE: cse_work_wait(work, timeout_ns); break;
 *     case CSE_WORK_ENDED: leave with success
 *     case CSE_WORK_FAILED: leave; cse_error_message() has the message, the arena a copy of it
 *     }
 */
#ifndef CSE_WORKERS_ARENA_CLUSTER_H
#define CSE_WORKERS_ARENA_CLUSTER_H

#include <sys/types.h>

#include "dataloader/input.h"
#include "engine/base/role.h"
#include "engine/execute/execute.h"
#include "engine/types/rounding.h"
#include "workers/arena/record.h"
#include "workers/arena/timing.h"

typedef struct cse_cluster cse_cluster;
typedef struct cse_work cse_work;

enum { CSE_MAX_SLOTS = 250, CSE_FAILURE_TEXT_BYTES = 1024 };

/* ---- Coordinator ------------------------------------------------------------------------------
 * */

typedef struct cse_cluster_layout {
    const cse_graph *graph;          /* after the last pass */
    const unsigned char *states;     /* initial CSE_SPACE_STATE; copied */
    int replica_count;               /* num_csx, 1 or more */
    int weight_server_count;         /* 0: the replicas have that role as well */
    int input_worker_count;          /* of the whole cluster: num_csx * num_workers_per_csx */
    cse_rounding weight_grad_reduce; /* payload of the tree; see reduce.h */
    uint64_t seed;
    int64_t first_step, num_steps;
    int record_count;         /* K: steps that may be unrecorded; 0: 16 */
    int64_t statistics_every; /* counted from 1, steps that are multiples are observed; 0: none */
    int ring_microbatches;    /* D: microbatches prefetched; 0: of 2 to 8 steps; at least M */
} cse_cluster_layout;

/* Creates and fills the arena. All its bytes that a fault-free run touches are reserved here, so
 * that a full tmpfs fails now (CSE_TEMPORARY) and not as SIGBUS later. CSE_CONFIG for counts out of
 * range. */
cse_status cse_cluster_create(const cse_cluster_layout *layout, cse_cluster **cluster);

/* Unmaps, closes the descriptor, frees the handle. For workers' handles as well. Processes that
 * still map the arena keep their view of it; it is gone with the last of them. */
void cse_cluster_destroy(cse_cluster **cluster);

/* The memfd; close-on-exec is set. A launcher passes it on (dup to a known number in the child). */
int cse_cluster_descriptor(const cse_cluster *cluster);

int cse_cluster_slot_count(const cse_cluster *cluster);
/* First role of the slot's kind: what the process is started as. */
cse_role cse_cluster_slot_kind(const cse_cluster *cluster, int slot);
/* Its number among its kind: slot 3 of 2 replicas + 4 input workers is input worker 1. */
int cse_cluster_slot_index(const cse_cluster *cluster, int slot);
/* Both as one. */
cse_process cse_cluster_slot_process(const cse_cluster *cluster, int slot);
/* "replica 0", "weight server 1", "input worker 3"; `text` is returned. */
const char *cse_cluster_slot_name(const cse_cluster *cluster, int slot, char *text, size_t size);
/* Mask of cse_role the slot may claim now. */
int cse_cluster_slot_roles(const cse_cluster *cluster, int slot);
/* Gives a slot more or fewer roles (all input workers are gone: replicas fill the ring themselves;
 * their processes must have a data loader then). */
void cse_cluster_set_roles(cse_cluster *cluster, int slot, int roles);

/* Registers process `pid` as the occupant of a vacant slot (new incarnation). The slot's worker may
 * start working before or after. */
void cse_cluster_attach(cse_cluster *cluster, int slot, pid_t pid);
/* 0 when vacant. */
pid_t cse_cluster_occupant(const cse_cluster *cluster, int slot);

/* The process of `slot` is gone - the kernel said so (pidfd readable or waitid), not merely silent
 * or signalled. Frees what it had claimed, puts back a half-written line of states, splits its
 * piece of the tree when two others live, wakes the others, and vacates the slot. Repeating it (the
 * coordinator died in it) is safe. Returns the number of claims freed. Reap the process *after* it,
 * start a successor after that. */
int cse_cluster_recover(cse_cluster *cluster, int slot);

/* How many replicas share the next steps' microbatches (1 .. M; latched at a commit). Never changes
 * a result. CSE_TEMPORARY when memory for the pieces is missing. */
cse_status cse_cluster_plan(cse_cluster *cluster, int replica_count);

/* Steps below `steps` may change the states. Only grows. Held at n, computing goes on up to the
 * gradients of step n. Starts at first_step: nothing is released. */
void cse_cluster_release(cse_cluster *cluster, int64_t steps);
/* Stops changes of the states as soon as possible whatever is released: returns the number of steps
 * after which they will stand still (the step in flight when it has passed that point, reached when
 * cse_cluster_steps_done gives it), or -1 when a worker is just deciding it: call again in a
 * moment. cse_cluster_unhold lets go; harmless when not held. */
int64_t cse_cluster_hold(cse_cluster *cluster);
void cse_cluster_unhold(cse_cluster *cluster);

/* Steps committed, first_step included: the states are those after that many steps, or on the way
 * to the next one. They stand still while step `steps_done` is unreleased or held. */
int64_t cse_cluster_steps_done(const cse_cluster *cluster);
/* Borrowed; CSE_SPACE_STATE in the arena. */
const unsigned char *cse_cluster_states_view(const cse_cluster *cluster);

/* The next committed step that is not closed yet; false when there is none. The record is valid
 * until cse_cluster_close_record, which frees its place; K unclosed steps stop the run. */
bool cse_cluster_next_record(cse_cluster *cluster, cse_record *record);
void cse_cluster_close_record(cse_cluster *cluster);

/* No step from `end_step` on is begun (lower than the layout's first_step + num_steps only when
 * those steps are unreleased). */
void cse_cluster_set_end(cse_cluster *cluster, int64_t end_step);
/* Every cse_work_once returns CSE_WORK_ENDED from now on. */
void cse_cluster_stop(cse_cluster *cluster);

/* What the coordinator can be woken by. */
typedef enum cse_wake {
    CSE_WAKE_RECORD = 1, /* a step was committed */
    CSE_WAKE_URGENT =
        2, /* a failure, the end, or workers wait for a record to close or a release */
} cse_wake;
/* Sleeps until one of `wake` (a mask) happened since the last call, or the timeout. A hint: look at
 * the facts after every return. At many steps a second wait for URGENT only, with a timeout. */
void cse_cluster_wait(cse_cluster *cluster, int wake, int64_t timeout_ns);

/* Liveness: asks all workers; each answers between two units of work (or when woken). */
uint32_t cse_cluster_ask(cse_cluster *cluster);
/* The last question the slot's process answered. */
uint32_t cse_cluster_answered(const cse_cluster *cluster, int slot);

/* A failure a worker left: its status and message; CSE_OK when none. */
cse_status cse_cluster_failure(const cse_cluster *cluster, int slot,
                               char text[CSE_FAILURE_TEXT_BYTES]);

/* Nanoseconds all replicas together waited for input so far. */
int64_t cse_cluster_input_wait_ns(const cse_cluster *cluster);

/* Nanoseconds the slot's processes had nothing to do so far: `idle`, what they need was not there
 * (input_wait: the part of it that was input); `blocked`, nobody took what they had made. */
typedef struct cse_slot_load {
    int64_t idle_ns, blocked_ns, input_wait_ns;
} cse_slot_load;
cse_slot_load cse_cluster_slot_load(const cse_cluster *cluster, int slot);
/* Has the spans of step `step` kept; one step at a time. -1: of none. */
void cse_cluster_sample(cse_cluster *cluster, int64_t step);
/* Appends the slot's spans of the sampled step, at most `most`; their number. Once the step is
 * committed they are all there. */
int cse_cluster_spans(const cse_cluster *cluster, int slot, cse_process_span *spans, int most);

/* How long each kernel took the slot's process in the sampled step: those that it ran, at most
 * `most`; their number. As above. None where the step was observed as well. */
int cse_cluster_kernel_times(const cse_cluster *cluster, int slot, cse_kernel_time *times,
                             int most);

/* Step, stage and every unfinished unit of work with its owner, for a hang report. */
void cse_cluster_dump(const cse_cluster *cluster, cse_text *out);

/* ---- Worker -----------------------------------------------------------------------------------
 * */

/* Maps the arena behind `descriptor` (taken over; closed by cse_cluster_destroy). CSE_UNAVAILABLE
 * when it is not an arena of this version. */
cse_status cse_cluster_map(int descriptor, cse_cluster **cluster);

/* Same floating-point mode in every process and thread that computes: round to nearest, subnormal
 * results and operands are zero (FTZ, DAZ). */
void cse_set_float_mode(void);

/* Where microbatches come from: fills `bytes` (CSE_SPACE_INPUT of the graph) with microbatch m of
 * step `step`, a pure function of them. */
typedef struct cse_microbatch_source {
    void *self;
    cse_status (*read)(void *self, int64_t step, int64_t m, void *bytes);
} cse_microbatch_source;

/* A source that reads `loader` (borrowed) and arranges its streams as `graph` (borrowed) wants
 * them. CSE_CONFIG when a stream is missing or has another shape or type. */
cse_status cse_loader_source_new(cse_dataloader *loader, const cse_graph *graph,
                                 cse_microbatch_source **source);
void cse_loader_source_destroy(cse_microbatch_source **source);

typedef struct cse_work_options {
    cse_cluster *cluster; /* borrowed */
    int slot;
    cse_executable *executable;          /* borrowed; NULL for input workers */
    const cse_microbatch_source *source; /* borrowed; NULL for slots without that role */
} cse_work_options;

typedef enum cse_work_result {
    CSE_WORK_DONE,   /* a unit of work (one leaf, chunk or microbatch) */
    CSE_WORK_IDLE,   /* nothing to do at the moment */
    CSE_WORK_ENDED,  /* all steps are done or the coordinator stopped the run */
    CSE_WORK_FAILED, /* message in cse_error_message(), and in the arena for the coordinator */
} cse_work_result;

/* Allocates everything the loop will use. CSE_UNAVAILABLE when the executable's graph is not the
 * arena's. */
cse_status cse_work_new(const cse_work_options *options, cse_work **work);
void cse_work_destroy(cse_work **work);
cse_work_result cse_work_once(cse_work *work);
/* After IDLE: returns when there may be work, at a control event, or after the timeout. */
void cse_work_wait(cse_work *work, int64_t timeout_ns);
/* Leaves a failure for the coordinator (also from outside the loop, e.g. a file cannot be opened).
 * */
void cse_cluster_report_failure(cse_cluster *cluster, int slot, cse_status status,
                                const char *message);

#endif
