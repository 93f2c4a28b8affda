/* What the sizes of an execution's arena follow from, but for the choice between the schedules of
 * states in a file (execution_needs.h). */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_LAYOUT_H
#define CSE_WORKERS_CONTROL_EXECUTION_LAYOUT_H

#include "workers/control/execution_options.h"

/* Replicas that it has: at most one for each microbatch. */
int cse_execution_replicas(const cse_execution *execution);
/* By microbatches. */
cse_cluster_layout cse_execution_layout_of(const cse_execution *execution);
/* CSE_CONFIG where a number of processes is below the least or above any. */
cse_status cse_execution_check_counts(const cse_cluster_options *options);

#endif
