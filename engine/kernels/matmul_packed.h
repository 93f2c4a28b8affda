/* Our own float32 product for AVX-512. */
#ifndef CSE_KERNELS_MATMUL_PACKED_H
#define CSE_KERNELS_MATMUL_PACKED_H

#include "engine/kernels/matmul_sizes.h"

/* Whether this machine can run it. */
bool cse_matmul_packed_runs_here(void);

/* The kernel of a product of float32; sizes must not be 0. NULL where it does not run. */
cse_kernel *cse_matmul_packed_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes);

#endif
