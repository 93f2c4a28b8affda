/* Ends a run whose loss or gradients are not finite in a committed step. */
#ifndef CSE_RUN_EXECUTION_DIVERGENCE_H
#define CSE_RUN_EXECUTION_DIVERGENCE_H

#include "run/execution/nan_monitor.h"
#include "run/session/traced_step.h"

/* CSE_FAILED when the loss is not finite or gradients overflow at the least loss scale; the message
 * names the step, the parameters and, from the monitor (may be NULL), the first tensors. */
cse_status cse_check_divergence(const cse_step *step, const cse_record *record,
                                const cse_nan_monitor *monitor);

#endif
