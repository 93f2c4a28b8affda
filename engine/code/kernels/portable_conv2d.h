/* Convolutions and their gradients as products of our own kernels, whose order of sums is the same
 * on every machine, for `deterministic: portable`. */
#ifndef CSE_KERNELS_PORTABLE_CONV2D_H
#define CSE_KERNELS_PORTABLE_CONV2D_H

#include "engine/code/kernels/plan.h"
#include "engine/graph/trace/windows.h"

typedef enum cse_conv2d_made {
    CSE_CONV2D_OUTPUT,
    CSE_CONV2D_INPUT,
    CSE_CONV2D_WEIGHT
} cse_conv2d_made;

/* float32 alone: CSE_UNAVAILABLE for other types, which cse_kernel_new_widened then serves. No size
 * is 0. */
cse_status cse_kernel_new_portable_conv2d(const cse_kernel_plan *plan,
                                          const cse_conv2d_sizes *sizes, cse_conv2d_made made,
                                          cse_kernel **kernel);

#endif
