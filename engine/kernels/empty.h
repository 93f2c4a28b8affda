/* The kernel of a product without terms: an empty result, or sums over nothing. */
#ifndef CSE_KERNELS_EMPTY_H
#define CSE_KERNELS_EMPTY_H

#include "engine/kernels/plan.h"

/* Fills `rows` rows of `columns` elements with 0, or with the bias (float32, by column) and its
 * relu. */
cse_kernel *cse_kernel_new_empty(const cse_kernel_plan *plan, int64_t rows, int64_t columns);

#endif
