/* Batches of several sizes in one run: whole ones, the last one of each epoch, of the samples that
 * do not fill a batch, and those that samples were left out of. */
#ifndef CSE_RUN_EXECUTION_BATCH_KINDS_H
#define CSE_RUN_EXECUTION_BATCH_KINDS_H

#include "run/execution/runner.h"

/* Traces the step for the batches that the execution begins with, as far as that is known before
 * the step is, and again where the step turns out to be one of the other kind. Sets r->found. */
cse_status cse_runner_trace(cse_runner *runner);
/* Traces it again where the steps are to begin elsewhere than was thought. `again`: it was. */
cse_status cse_runner_trace_anew(cse_runner *runner, bool *again);

/* CSE_CONFIG where all samples of the batch that the execution begins with are left out. */
cse_status cse_runner_check_batch(const cse_runner *runner);

/* The step at which the execution that begins at `first` ends, `last` or earlier. */
int64_t cse_runner_kind_end(const cse_runner *runner, int64_t first, int64_t last);

#endif
