/* The sums of a product of few rows with a packed matrix, in AVX-512: two vectors of its rows go
 * through the depth together, since a sum waits for the one before. */
#ifndef CSE_KERNELS_FEW_ROWS_SUMS_H
#define CSE_KERNELS_FEW_ROWS_SUMS_H

#include "engine/code/kernels/packed_few_rows.h"
#include "engine/code/kernels/turned_rows.h"

enum {
    CSE_FEW_VECTORS = 2,
    CSE_FEW_TOGETHER = CSE_FEW_VECTORS * CSE_LANE_COUNT,
    CSE_FEW_MOST_X = 4 /* rows of x */
};

/* Where blocks lie, and what is summed. */
typedef struct cse_few_sums {
    const cse_few_rows *few;
    const char *rows[CSE_FEW_TOGETHER]; /* beyond the last one that one again */
    int64_t x;                          /* first row of x */
    __m512 values[CSE_FEW_MOST_X][CSE_FEW_VECTORS];
} cse_few_sums;

/* Sums of 0 for the rows of the matrix from `row` on. */
CSE_LANES void cse_few_sums_begin(cse_few_sums *w, int64_t row, const int rows)
{
    const cse_few_rows *few = w->few;
    for (int64_t i = 0; i < CSE_FEW_TOGETHER; i++)
        w->rows[i] = (const char *)(few->weight +
                                    (row + i < few->end ? row + i : few->end - 1) * few->row_words);
    CSE_UNROLL for (int r = 0; r < rows; r++) CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
        w->values[r][v] = _mm512_setzero_ps();
}

/* With bias and relu, to where the result is. */
CSE_LANES void cse_few_sums_store(const cse_few_sums *w, int64_t row, const int rows)
{
    const cse_few_rows *few = w->few;
    CSE_UNROLL for (int v = 0; v < CSE_FEW_VECTORS; v++)
    {
        const int64_t at = row + v * CSE_LANE_COUNT, left = few->end - at;
        const __mmask16 lanes = cse_lanes_of(left > 0 ? left : 0);
        CSE_UNROLL for (int r = 0; r < rows; r++)
        {
            __m512 sum = w->values[r][v];
            if (few->bias != NULL)
                sum = sum + cse_lanes_read(few->bias + at, lanes);
            if (few->relu)
                sum = cse_lanes_greatest(_mm512_setzero_ps(), sum);
            cse_lanes_write(few->to + (w->x + r) * few->stride + at, lanes, sum);
        }
    }
}

#endif
