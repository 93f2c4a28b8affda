/* What losses share: the reduction of one loss an element, or a row, to what is asked for. */
#ifndef CSE_OPS_LOSSES_H
#define CSE_OPS_LOSSES_H

#include <stdint.h>

#include "engine/trace/arguments.h"

/* `losses`, their sum or their mean over all elements. */
cse_tensor *cse_reduce_losses(cse_tensor *losses, cse_reduction reduction);

/* The label of rows that losses of classes leave out, as in PyTorch. */
enum { CSE_DEFAULT_IGNORE_INDEX = -100 };

/* Of rows that all count. */
#define CSE_NO_IGNORE_INDEX INT32_MIN

/* As cse_cross_entropy_per_sample, with another label of the rows that are ignored. */
cse_tensor *cse_cross_entropy_ignoring(cse_tensor *logits, cse_tensor *labels, int32_t ignored);

#endif
