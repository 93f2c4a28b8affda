/* What losses share: the reduction of one loss an element, or a row, to what is asked for. */
#ifndef CSE_OPS_LOSSES_H
#define CSE_OPS_LOSSES_H

#include "engine/trace/arguments.h"

/* `losses`, their sum or their mean over all elements. */
cse_tensor *cse_reduce_losses(cse_tensor *losses, cse_reduction reduction);

#endif
