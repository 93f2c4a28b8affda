/* The product of an emulated accumulation, bit for bit as engine/graph/trace/accumulate.h says:
 * tiles of float32 terms, a running sum that is rounded after each tile. The kernels for matrix
 * products and convolutions of emulated nodes are made from it. */
#ifndef CSE_KERNELS_TILED_H
#define CSE_KERNELS_TILED_H

#include "engine/code/kernels/plan.h"

/* An operand in 16 bits as [size, k]: element (i, p) is values[i * stride + p * depth_stride]. */
typedef struct cse_tiled_operand {
    const uint16_t *values;
    int64_t stride, depth_stride;
} cse_tiled_operand;

/* Identifies, together with the step, the random numbers of stochastic rounding: the microbatch's
 * first sample (0 where the node is of step level) and the index in the node of the product's first
 * element. */
typedef struct cse_tiled_place {
    uint32_t sample, first_element;
} cse_tiled_place;

typedef struct cse_tiled_sizes {
    int64_t m, n, k;
} cse_tiled_sizes;

typedef struct cse_tiled cse_tiled;

/* `node` says how sums are rounded, and has two operands of one 16-bit type. For comparisons
 * CSE_TILED=avx2 or CSE_TILED=portable in the environment selects code for narrower vectors or
 * none; the bits are the same. */
cse_tiled *cse_tiled_new(const cse_node *node, cse_tiled_sizes sizes);
void cse_tiled_destroy(cse_tiled **tiled);

/* sums[m][n] = a[m, k] times b[n, k]. `kernel`, which runs, gives seed and step. */
void cse_tiled_run(cse_tiled *tiled, const cse_kernel *kernel, const cse_tiled_operand operands[2],
                   cse_tiled_place place, float *sums);

/* The `sample` of cse_tiled_place for `node`: the microbatch's first sample, or 0 at step level. */
uint32_t cse_tiled_sample(const cse_node *node, const cse_kernel *kernel);

#endif
