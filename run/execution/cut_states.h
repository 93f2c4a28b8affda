/* What cannot be where optimizer states are cut over the hosts of a run (states.shard). */
#ifndef CSE_RUN_EXECUTION_CUT_STATES_H
#define CSE_RUN_EXECUTION_CUT_STATES_H

#include "run/session/session.h"

/* CSE_CONFIG: of a state of the step, each host would have a part alone where it needs all. */
cse_status cse_check_cut_states(const cse_step *step, const cse_execution *execution);

#endif
