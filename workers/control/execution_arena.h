/* The arena of an execution: a new one, that of a coordinator that died in it, or that of the steps
 * before. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_ARENA_H
#define CSE_WORKERS_CONTROL_EXECUTION_ARENA_H

#include "workers/control/execution_options.h"

/* execution->inherited, or a new arena without states. CSE_CONFIG for numbers of processes out of
 * range. */
struct cse_arena_nodes; /* where its parts are to lie; NULL: where this process runs */
cse_status cse_execution_arena(const cse_execution *execution, const struct cse_arena_nodes *nodes,
                               cse_cluster **cluster);

/* The arena of `descriptor` (which is taken), whose coordinator has died in this execution, for
 * `inherited`. first_step is the first whose record is handed out again (inherit.h).
 * CSE_UNAVAILABLE when it is the arena of another one, or not all its workers have ended. */
cse_status cse_execution_inherit(const cse_execution *execution, int descriptor,
                                 cse_cluster **cluster);
/* The arena that an earlier execution left, for the next steps of the same training.
 * CSE_UNAVAILABLE when it does not fit them. */
cse_status cse_execution_extend(const cse_execution *execution, cse_cluster *cluster);

#endif
