/* The coordinator's decisions: a state machine over (state, event).
 *
 * It decides when workers start, when the states may change, when they stay constant for a
 * snapshot, how a worker's death is handled and when the run is over. It has no side effects of its
 * own: it acts through the functions of coordinator_io.h. Events are handled one at a time by one
 * thread.
 *
 *     STARTING -- all workers ready --> RUNNING -- all steps done, or stop --> STOPPING
 *         |                               `-- failure --> SETTLING -- the states stand --> STOPPING
 *         `------------ stop or failure ---------------------------------------------> STOPPING
 *     STOPPING -- all processes gone --> ENDED
 */
#ifndef CSE_WORKERS_CONTROL_COORDINATOR_H
#define CSE_WORKERS_CONTROL_COORDINATOR_H

#include "workers/control/coordinator_io.h"

typedef struct cse_coordinator cse_coordinator;

cse_coordinator *cse_coordinator_new(const cse_coordinator_options *options);
void cse_coordinator_destroy(cse_coordinator **coordinator);

void cse_coordinator_handle(cse_coordinator *coordinator, const cse_coordinator_event *event);

cse_coordinator_state cse_coordinator_state_now(const cse_coordinator *coordinator);
/* Whether the coordinator waits for the next commit, after which the states stay constant. */
bool cse_coordinator_awaits_commit(const cse_coordinator *coordinator);
/* Incarnation of the slot's process, -1 when the slot is vacant. */
int cse_coordinator_incarnation(const cse_coordinator *coordinator, int slot);

/* How the run went, once ENDED: the first failure with its message (cse_error_message), or CSE_OK.
 * Sets the members of `result` the coordinator knows; input_wait_seconds is not among them. */
cse_status cse_coordinator_result(const cse_coordinator *coordinator, cse_run_result *result);

#endif
