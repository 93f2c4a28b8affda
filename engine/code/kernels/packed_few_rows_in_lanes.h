/* Few rows times a packed matrix, for lanes of either width; see packed_few_rows.h.
 *
 * A chunk of the depth of two vectors of rows is unpacked, then squares of it are turned, so that a
 * vector holds one element of each row, and multiplied by the elements of x. */
#ifndef CSE_KERNELS_PACKED_FEW_ROWS_IN_LANES_H
#define CSE_KERNELS_PACKED_FEW_ROWS_IN_LANES_H

#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/packed_few_rows.h"

/* Rows that are computed together, and elements of each that are unpacked at once: whole blocks of
 * every type. An odd number of lines between rows, so that they do not fall into the same sets. */
enum { FEW_VECTORS = 2, FEW_TOGETHER = FEW_VECTORS * CSE_LANE_COUNT };
enum { FEW_DEPTH = CSE_PACKED_MOST_ELEMENTS, FEW_STRIDE = FEW_DEPTH + 16 };

typedef struct few_chunk {
    int64_t begin, depth;
    _Alignas(64) float values[FEW_TOGETHER * FEW_STRIDE];
} few_chunk;

/* Fetches what is unpacked after this: the same part of the rows behind. More rows of a few lines
 * each than the processor foresees. */
CSE_LANES void few_fetch(const cse_few_rows *few, const char *part, int64_t bytes)
{
    const char *ahead = part + FEW_TOGETHER * few->row_words * (int64_t)sizeof(int32_t);
    for (int64_t i = 0; i < bytes + 63; i += 64)
        __builtin_prefetch(ahead + i);
}

/* Rows beyond the last one are that one again. */
CSE_LANE_TARGET static void few_unpack(const cse_few_rows *few, int64_t row, few_chunk *chunk)
{
    const int64_t begin = chunk->begin, depth = chunk->depth;
    const cse_packed_type *type = few->type;
    for (int64_t r = 0; r < FEW_TOGETHER; r++) {
        const int64_t at = row + r < few->end ? row + r : few->end - 1;
        few_fetch(few,
                  (const char *)(few->weight + at * few->row_words) +
                      begin / type->elements * (int64_t)type->bytes,
                  depth / type->elements * (int64_t)type->bytes);
        cse_packed_unpack_blocks(&(cse_packed_blocks){ type, few->weight + at * few->row_words,
                                                       begin / type->elements,
                                                       depth / type->elements },
                                 chunk->values + r * FEW_STRIDE);
    }
}

/* ROWS of x; the number is a constant where it is called, so that the sums stay in registers. */
CSE_LANES void few_multiply(const cse_few_rows *few, const few_chunk *chunk, const int rows,
                            cse_vector sums[CSE_PACKED_FEW_ROWS][FEW_VECTORS])
{
    for (int64_t p = 0; p < chunk->depth; p += CSE_LANE_COUNT)
        CSE_UNROLL for (int v = 0; v < FEW_VECTORS; v++)
        {
            cse_vector w[CSE_LANE_COUNT];
            const float *from = chunk->values + v * CSE_LANE_COUNT * FEW_STRIDE + p;
            CSE_UNROLL for (int j = 0; j < CSE_LANE_COUNT; j++) w[j] =
                *(const cse_vector *)(from + j * FEW_STRIDE);
            cse_lanes_transpose(w);
            CSE_UNROLL for (int j = 0; j < CSE_LANE_COUNT; j++) for (int r = 0; r < rows; r++)
                sums[r][v] = cse_lanes_multiply_add(
                    cse_lanes_of_all(few->x[r * few->columns + chunk->begin + p + j]), w[j],
                    sums[r][v]);
        }
}

CSE_LANES void few_store(const cse_few_rows *few, int64_t row, const int rows,
                         cse_vector sums[CSE_PACKED_FEW_ROWS][FEW_VECTORS])
{
    const cse_vector zero = cse_lanes_of_all(0);
    for (int v = 0; v < FEW_VECTORS; v++) {
        const int64_t at = row + v * CSE_LANE_COUNT, left = few->end - at;
        const cse_lane_mask lanes = cse_lanes_of(left > 0 ? left : 0);
        for (int r = 0; r < rows && left > 0; r++) {
            cse_vector sum = sums[r][v];
            if (few->bias != NULL)
                sum = sum + cse_lanes_read(few->bias + at, lanes);
            if (few->relu)
                sum = cse_lanes_greatest(zero, sum);
            cse_lanes_write(few->to + r * few->stride + at, lanes, sum);
        }
    }
}

CSE_LANES void few_run(const cse_few_rows *few, const int rows)
{
    few_chunk chunk;
    for (int64_t row = few->first; row < few->end; row += FEW_TOGETHER) {
        cse_vector sums[CSE_PACKED_FEW_ROWS][FEW_VECTORS];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < FEW_VECTORS; v++)
                sums[r][v] = cse_lanes_of_all(0);
        for (chunk.begin = 0; chunk.begin < few->columns; chunk.begin += FEW_DEPTH) {
            const int64_t left = few->columns - chunk.begin;
            chunk.depth = left < FEW_DEPTH ? left : FEW_DEPTH;
            few_unpack(few, row, &chunk);
            few_multiply(few, &chunk, rows, sums);
        }
        few_store(few, row, rows, sums);
    }
}

#define FEW_CASE(ROWS)      \
    case ROWS:              \
        few_run(few, ROWS); \
        break;

CSE_LANE_TARGET void CSE_LANED(cse_packed_few_rows)(const cse_few_rows *few)
{
    switch (few->rows) {
        FEW_CASE(1)
        FEW_CASE(2)
        FEW_CASE(3)
        FEW_CASE(4)
        FEW_CASE(5)
        FEW_CASE(6)
        FEW_CASE(7)
    default:
        few_run(few, CSE_PACKED_FEW_ROWS);
    }
}

#endif
