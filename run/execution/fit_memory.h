/* `memory_limit`: the fastest plan of a step with which the run's memory is within it. */
#ifndef CSE_RUN_EXECUTION_FIT_MEMORY_H
#define CSE_RUN_EXECUTION_FIT_MEMORY_H

#include "run/execution/runner.h"
#include "workers/control/execution_options.h"

/* Before the traced step of the runner is planned: where it would take more than the limit, as few
 * activations are recomputed as needed, if the configuration does not say which. CSE_CONFIG where
 * that does not suffice, with the nearest setting that does. `execution` is the one that is meant.
 */
cse_status cse_runner_fit_memory(cse_runner *runner, const cse_execution *execution);

#endif
