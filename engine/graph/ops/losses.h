/* What losses share: the reduction of one loss an element, or a row, to what is asked for. */
#ifndef CSE_OPS_LOSSES_H
#define CSE_OPS_LOSSES_H

#include <stdint.h>

#include "engine/graph/trace/arguments.h"

/* `losses`, their sum or their mean over all elements. */
cse_tensor *cse_reduce_losses(cse_tensor *losses, cse_reduction reduction);

/* As cse_cross_entropy_per_sample, with another label of the rows that are ignored. */
cse_tensor *cse_cross_entropy_ignoring(cse_tensor *logits, cse_tensor *labels, int32_t ignored);

#endif
