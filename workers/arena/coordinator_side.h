/* The arena as the coordinator uses it.
 *
 *     cse_cluster_create(&layout, &cluster);           one memfd, states copied in
 *     start worker i with descriptor cse_cluster_descriptor(cluster)
 *     cse_cluster_attach(cluster, i, pid);
 *     cse_cluster_release(cluster, n);                 steps below n may change the states
 *     loop: cse_cluster_wait, cse_cluster_next_record -> callbacks -> cse_cluster_close_record,
 *           cse_cluster_free_records
 *     when a process has died: cse_cluster_recover
 *     cse_cluster_stop; wait for the processes; cse_cluster_destroy
 *
 * The coordinator is the only writer of what it changes here; it then rings the doorbell. */
#ifndef CSE_WORKERS_ARENA_COORDINATOR_SIDE_H
#define CSE_WORKERS_ARENA_COORDINATOR_SIDE_H

#include "engine/base/text.h"
#include "workers/arena/memory.h"
#include "workers/arena/record.h"
#include "workers/arena/slots.h"

/* Call when the kernel has reported the end of the slot's process (pidfd readable or waitid); that
 * it is silent or was signalled is not enough. Frees what it had claimed, restores a half-written
 * line of states from the undo log, splits its node of the reduction tree when two other replicas
 * live, wakes the others, and vacates the slot. Safe to repeat, also when the coordinator died in
 * it. Returns the number of claims freed. Then reap the process and start a successor. */
int cse_cluster_recover(cse_cluster *cluster, int slot);

/* How many replicas share the next steps' microbatches (1 .. M), from the next commit on. Never
 * changes a result. CSE_TEMPORARY when memory for the partial sums is missing. */
cse_status cse_cluster_plan(cse_cluster *cluster, int replica_count);

/* Steps below `steps` may change the states. The bound only grows; it starts at first_step: nothing
 * is released. At bound n, workers still compute the gradients of step n. */
void cse_cluster_release(cse_cluster *cluster, int64_t steps);
/* Stops changes of the states as soon as possible, whatever is released. Returns the number of
 * steps after which the states stay constant, which includes the step in flight if it may already
 * change them. They are constant once cse_cluster_steps_done returns that number. -1 while a worker
 * is deciding: call again in a moment. cse_cluster_unhold ends the hold; harmless without one. */
int64_t cse_cluster_hold(cse_cluster *cluster);
void cse_cluster_unhold(cse_cluster *cluster);

/* Steps committed, first_step included. The states are those after that many steps, or partly
 * updated for the next one. They are constant while step `steps_done` is unreleased or held. */
int64_t cse_cluster_steps_done(const cse_cluster *cluster);
/* Borrowed; CSE_SPACE_STATE in the arena, or, where it was gathered after these steps, all of it
 * (state_gather.h). */
const unsigned char *cse_cluster_states_view(const cse_cluster *cluster);
/* Whether `values` lies in them. */
bool cse_cluster_has_states(const cse_cluster *cluster, const void *values);
/* The same, to be filled before the first worker starts. */
unsigned char *cse_cluster_initial_states(cse_cluster *cluster);

/* Keeps the chain of digests after `steps` steps, CSE_CHAIN_BYTES, for a coordinator that takes the
 * run over before a step's record is free. */
void cse_cluster_begin_chain(cse_cluster *cluster, int64_t steps, const unsigned char *chain);

/* The next committed step that is not closed yet; false when there is none.
 * cse_cluster_close_record goes on to the one after it. */
bool cse_cluster_next_record(cse_cluster *cluster, cse_record *record);
void cse_cluster_close_record(cse_cluster *cluster);
/* Frees the places of the records of all steps below `steps`, which are closed: until then another
 * coordinator can read them. With K records that are not free, workers wait. */
void cse_cluster_free_records(cse_cluster *cluster, int64_t steps);
/* Whether half of the places are in use. */
bool cse_cluster_lacks_places(const cse_cluster *cluster);
/* Steps that may change the states, and those whose records are free. */
int64_t cse_cluster_released(const cse_cluster *cluster);
int64_t cse_cluster_freed(const cse_cluster *cluster);

/* Every cse_work_once returns CSE_WORK_ENDED from now on. */
void cse_cluster_stop(cse_cluster *cluster);

/* What the coordinator can be woken by. */
typedef enum cse_wake {
    CSE_WAKE_RECORD = 1, /* a step was committed */
    CSE_WAKE_URGENT = 2, /* a failure, the end, or workers wait for a closed record or a release */
} cse_wake;
/* Sleeps until an event of the mask `wake` has happened since the last call, or the timeout. Wakes
 * may be spurious: check the state after every return. When steps are short, wait for URGENT only,
 * with a timeout. */
void cse_cluster_wait(cse_cluster *cluster, int wake, int64_t timeout_ns);

/* The failure that the slot's worker reported: its status and message; CSE_OK when none. */
cse_status cse_cluster_failure(const cse_cluster *cluster, int slot,
                               char text[CSE_FAILURE_TEXT_BYTES]);

/* Nanoseconds all replicas together waited for input so far. */
int64_t cse_cluster_input_wait_ns(const cse_cluster *cluster);
/* Steps are taken from now on: what processes have waited for until now (they start, the run stands
 * still) is no wait of a step, and the counters of cse_step_times begin at 0. */
void cse_cluster_count_waits(cse_cluster *cluster);

/* Step, stage and every unfinished unit of work with its owner, for a hang report. */
void cse_cluster_dump(const cse_cluster *cluster, cse_text *out);

#endif
