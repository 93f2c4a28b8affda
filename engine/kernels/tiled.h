/* The product of an emulated accumulation, bit for bit as engine/trace/accumulate.h says: tiles of
 * float32 terms, a running sum that is rounded after each tile. The kernels for matrix products
 * and convolutions of emulated nodes are made from it. */
#ifndef CSE_KERNELS_TILED_H
#define CSE_KERNELS_TILED_H

#include "engine/kernels/plan.h"

/* An operand in 16 bits as [size, k]: element (i, p) is values[i * stride + p * depth_stride]. */
typedef struct cse_tiled_operand {
    const uint16_t *values;
    int64_t stride, depth_stride;
} cse_tiled_operand;

/* What the random numbers of stochastic rounding are for, besides the step: the microbatch's first
 * sample (0 where the node is of step level) and the number of the product's first element among
 * the elements of the node. */
typedef struct cse_tiled_place {
    uint32_t sample, first_element;
} cse_tiled_place;

typedef struct cse_tiled_sizes {
    int64_t m, n, k;
} cse_tiled_sizes;

typedef struct cse_tiled cse_tiled;

/* `node` says how sums are carried, and has two operands of one 16-bit type. CSE_TILED=avx2 or
 * portable in the environment asks for code without the widest vectors of this machine, or without
 * any, for comparisons: the bits are the same. */
cse_tiled *cse_tiled_new(const cse_node *node, cse_tiled_sizes sizes);
void cse_tiled_destroy(cse_tiled **tiled);

/* sums[m][n] = a[m, k] times b[n, k]. `moment` is the kernel that runs: its seed and step. */
void cse_tiled_run(cse_tiled *tiled, const cse_kernel *moment, const cse_tiled_operand operands[2],
                   cse_tiled_place place, float *sums);

/* Where the nodes' random numbers are drawn: the microbatch's first sample, 0 at step level. */
uint32_t cse_tiled_sample(const cse_node *node, const cse_kernel *moment);

#endif
