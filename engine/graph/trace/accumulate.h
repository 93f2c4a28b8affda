/* What an emulated accumulation computes (cse_node_is_tiled): the definition that reference
 * kernels, kernels and generated code all follow, bit for bit.
 *
 * The terms of a sum have an order: k for a matrix product; row-major over the reduced axes for a
 * sum; (channel, kernel row, kernel column), or (image, row, column), for convolutions, where what
 * lies in the padding counts as a term of zero. They are cut into tiles of tile_length terms, the
 * last one shorter. Within a tile they are added one after another from 0 in float32, each product
 * and addition rounded once, together (fused). The running sum begins as 0; after each tile the
 * tile's sum is added to it in float32, and the result is rounded to the 16-bit format `across`: to
 * nearest even, or stochastically.
 *
 * The random number of stochastic rounding is a pure function of (seed, step, the node's stream,
 * the first sample of the microbatch or 0 at step level, the number of the tile, the number of the
 * output element in the microbatch): cse_hash_bits of engine/base/random.h. */
#ifndef CSE_TRACE_ACCUMULATE_H
#define CSE_TRACE_ACCUMULATE_H

#include "engine/graph/trace/arguments.h"

/* One sum under way, for reference kernels. */
typedef struct cse_accumulator {
    const cse_reference *call;
    uint32_t element;
    float running, tile;
    int32_t terms; /* in the tile so far */
    uint32_t tiles;
} cse_accumulator;

/* For output element number `element` of the node of `call`. */
cse_accumulator cse_accumulator_start(const cse_reference *call, int64_t element);
void cse_accumulator_add(cse_accumulator *sum, double a, double b); /* a times b; both float32 */
float cse_accumulator_end(cse_accumulator *sum);

/* A REDUCE op's sum: the reference kernel, and the block of C (as cse_op.emit). */
void cse_reference_tiled_sum(const cse_reference *call);
void cse_emit_tiled_sum(cse_text *out, const cse_tensor *node);

#endif
