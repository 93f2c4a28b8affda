/* Training the trials of a sweep: one after another in child processes, or all of a rung as jobs in
 * the queue of a server. */
#ifndef CSE_CLI_SWEEP_SWEEP_RUN_H
#define CSE_CLI_SWEEP_SWEEP_RUN_H

#include "cli/sweep/sweep_trial.h"

/* All rungs, but for what is known. A trial that fails is a result. CSE_INTERRUPTED at Ctrl-C: the
 * same sweep then goes on. */
cse_status cse_sweep_run_all(const cse_sweep_run *run);

#endif
