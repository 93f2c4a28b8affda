/* The arena as the coordinator uses it.
 *
 *     cse_cluster_create(&layout, &cluster);           one memfd, states copied in
 *     start worker i with descriptor cse_cluster_descriptor(cluster)
 *     cse_cluster_attach(cluster, i, pid);
 *     cse_cluster_release(cluster, n);                 steps below n may change the states
 *     loop: cse_cluster_wait, cse_cluster_next_record -> callbacks -> cse_cluster_close_record
 *     when a process has died: cse_cluster_recover
 *     cse_cluster_stop; wait for the processes; cse_cluster_destroy
 *
 * Each word it changes has one writer, the coordinator; changes are announced by the doorbell. */
#ifndef CSE_WORKERS_ARENA_COORDINATOR_SIDE_H
#define CSE_WORKERS_ARENA_COORDINATOR_SIDE_H

#include "engine/base/text.h"
#include "workers/arena/memory.h"
#include "workers/arena/record.h"
#include "workers/arena/slots.h"

/* The process of `slot` is gone: the kernel said so (pidfd readable or waitid), it is not merely
 * silent or signalled. Frees what it had claimed, restores a half-written line of states from the
 * undo log, splits its node of the reduction tree when two others live, wakes the others, and
 * vacates the slot. Repeating it (the coordinator died in it) is safe. Returns the number of claims
 * freed. Reap the process *after* it, start a successor after that. */
int cse_cluster_recover(cse_cluster *cluster, int slot);

/* How many replicas share the next steps' microbatches (1 .. M; latched at a commit). Never changes
 * a result. CSE_TEMPORARY when memory for the partial sums is missing. */
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

/* Every cse_work_once returns CSE_WORK_ENDED from now on. */
void cse_cluster_stop(cse_cluster *cluster);

/* What the coordinator can be woken by. */
typedef enum cse_wake {
    CSE_WAKE_RECORD = 1, /* a step was committed */
    CSE_WAKE_URGENT = 2, /* a failure, the end, or workers wait for a closed record or a release */
} cse_wake;
/* Sleeps until one of `wake` (a mask) happened since the last call, or the timeout. A hint: look at
 * the facts after every return. At many steps a second wait for URGENT only, with a timeout. */
void cse_cluster_wait(cse_cluster *cluster, int wake, int64_t timeout_ns);

/* The failure that the slot's worker left: its status and message; CSE_OK when none. */
cse_status cse_cluster_failure(const cse_cluster *cluster, int slot,
                               char text[CSE_FAILURE_TEXT_BYTES]);

/* Nanoseconds all replicas together waited for input so far. */
int64_t cse_cluster_input_wait_ns(const cse_cluster *cluster);

/* Step, stage and every unfinished unit of work with its owner, for a hang report. */
void cse_cluster_dump(const cse_cluster *cluster, cse_text *out);

#endif
