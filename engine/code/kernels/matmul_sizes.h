/* The sizes of a matrix product, for the kernels that compute it. */
#ifndef CSE_KERNELS_MATMUL_SIZES_H
#define CSE_KERNELS_MATMUL_SIZES_H

#include "engine/code/kernels/plan.h"

/* `batches` products [m, k] x [k, n]; a transposed operand is stored [k, m] or [n, k]. */
typedef struct cse_matmul_sizes {
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b;
} cse_matmul_sizes;

/* The sizes of a matmul node. */
cse_matmul_sizes cse_matmul_sizes_of(const cse_node *product);

/* The kernel of a product of these sizes, whatever node `plan` names, as cse_kernel_new_matmul
 * makes it for a matmul node. */
cse_status cse_kernel_new_product(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                                  cse_kernel **kernel);

/* Counts a multiplication and an addition for each of m n k. */
static inline double cse_matmul_flops(const cse_matmul_sizes *sizes)
{
    return 2.0 * (double)sizes->batches * (double)sizes->m * (double)sizes->n * (double)sizes->k;
}

#endif
