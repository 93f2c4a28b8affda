/* Conversion of arrays, and the epilogue of a block of sums, for lanes of either width; see
 * convert.h and matmul_narrow.h. Each has one loop for each format, so that no loop tests for it.
 */
#ifndef CSE_KERNELS_CONVERT_IN_LANES_H
#define CSE_KERNELS_CONVERT_IN_LANES_H

#include "engine/code/kernels/convert.h"
#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/matmul_narrow.h"

CSE_LANES void widen_as(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += CSE_LANE_COUNT) {
        const cse_lane_mask lanes = cse_lanes_of(count - i);
        cse_lanes_write(to + i, lanes, cse_lanes_load(dtype, from, i, lanes));
    }
}

CSE_LANES void narrow_as(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += CSE_LANE_COUNT) {
        const cse_lane_mask lanes = cse_lanes_of(count - i);
        cse_lanes_store(dtype, to, i, lanes, cse_lanes_read(from + i, lanes));
    }
}

CSE_LANE_TARGET void CSE_LANED(cse_widen_array)(cse_dtype dtype, const void *from, float *to,
                                                int64_t count)
{
    if (dtype == CSE_BFLOAT16)
        widen_as(CSE_BFLOAT16, from, to, count);
    else if (dtype == CSE_FLOAT16)
        widen_as(CSE_FLOAT16, from, to, count);
    else
        widen_as(CSE_CBFLOAT16, from, to, count);
}

CSE_LANE_TARGET void CSE_LANED(cse_narrow_array)(cse_dtype dtype, const float *from, void *to,
                                                 int64_t count)
{
    if (dtype == CSE_BFLOAT16)
        narrow_as(CSE_BFLOAT16, from, to, count);
    else if (dtype == CSE_FLOAT16)
        narrow_as(CSE_FLOAT16, from, to, count);
    else
        narrow_as(CSE_CBFLOAT16, from, to, count);
}

/* Row by row, in the result's memory order. (The greatest of a NaN and x is x.) */
CSE_LANES void finish_as(cse_dtype dtype, const cse_matmul_end *end, const cse_matmul_block *block)
{
    const cse_vector zero = cse_lanes_of_all(0);
    const float *bias = end->bias != NULL ? end->bias + block->column : NULL;
    for (int64_t r = 0; r < block->rows; r++) {
        const float *from = block->values + r * block->stride;
        int64_t at = (block->row + r) * end->stride + block->column;
        for (int64_t c = 0; c < block->columns; c += CSE_LANE_COUNT) {
            const cse_lane_mask lanes = cse_lanes_of(block->columns - c);
            cse_vector sum = cse_lanes_read(from + c, CSE_LANES_ALL);
            if (bias != NULL)
                sum = sum + cse_lanes_read(bias + c, lanes);
            if (dtype == CSE_BFLOAT16 && end->narrow_bias != NULL)
                sum = cse_lanes_from_bfloat16(cse_lanes_to_bfloat16(sum)) +
                      cse_lanes_load(CSE_BFLOAT16, end->narrow_bias, block->column + c, lanes);
            sum = end->relu ? cse_lanes_greatest(zero, sum) : sum;
            cse_lanes_store(dtype, end->to, at + c, lanes, sum);
        }
    }
}

CSE_LANE_TARGET void CSE_LANED(cse_matmul_finish)(const cse_matmul_end *end,
                                                  const cse_matmul_block *block)
{
    if (end->dtype == CSE_FLOAT32)
        finish_as(CSE_FLOAT32, end, block);
    else if (end->dtype == CSE_BFLOAT16)
        finish_as(CSE_BFLOAT16, end, block);
    else if (end->dtype == CSE_FLOAT16)
        finish_as(CSE_FLOAT16, end, block);
    else
        finish_as(CSE_CBFLOAT16, end, block);
}

#endif
