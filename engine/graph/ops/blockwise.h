/* Values in blocks of 8 bits (engine/base/types/dynamic_map.h), as optimizers keep moments: int32
 * [blocks, CSE_BLOCK_WORDS], where block b holds elements 256 b to 256 b + 255 in row-major order,
 * the last one filled up with zeros. */
#ifndef CSE_OPS_BLOCKWISE_H
#define CSE_OPS_BLOCKWISE_H

#include "engine/base/types/dynamic_map.h"
#include "engine/graph/op.h"

/* The blocks that so many elements take. */
static inline int64_t cse_block_count(int64_t elements)
{
    return (elements + CSE_BLOCK_ELEMENTS - 1) / CSE_BLOCK_ELEMENTS;
}

/* The blocks of x, float32; `negative`: it may be. Where `finite` (a bool scalar, NULL: always)
 * does not hold, `before`: blocks of as many elements. */
cse_tensor *cse_quantize_blockwise(cse_tensor *x, bool negative, cse_tensor *finite,
                                   cse_tensor *before);
/* The values of `blocks`, of that shape. */
cse_tensor *cse_dequantize_blockwise(cse_tensor *blocks, bool negative, cse_shape shape);

/* Factor of the map (dynamic_map.h) that such a node uses. */
static inline int32_t cse_block_factor(const cse_attributes *attributes)
{
    return attributes->integers[0] != 0 ? 1 : 2;
}

/* The blocks of `count` values, and back. */
void cse_quantize_values(const float *values, int64_t count, int32_t factor, int32_t *words);
void cse_dequantize_values(const int32_t *words, int64_t count, int32_t factor, float *values);

#endif
