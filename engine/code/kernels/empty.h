/* The kernel of a product with a size of 0: the result is empty, or all its sums are 0. */
#ifndef CSE_KERNELS_EMPTY_H
#define CSE_KERNELS_EMPTY_H

#include "engine/code/kernels/plan.h"

/* Fills `rows` rows of `columns` elements with 0, or with the bias (float32, one for each column)
 * and its relu. */
cse_kernel *cse_kernel_new_empty(const cse_kernel_plan *plan, int64_t rows, int64_t columns);

#endif
