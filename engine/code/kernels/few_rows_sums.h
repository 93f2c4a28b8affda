/* What products of few rows with a packed matrix share in AVX-512: rows that are turned in
 * registers, and the sums of two vectors of rows, which go through the depth together, since a sum
 * waits for the one before. */
#ifndef CSE_KERNELS_FEW_ROWS_SUMS_H
#define CSE_KERNELS_FEW_ROWS_SUMS_H

#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/packed_few_rows.h"

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

/* Rows 0, 4, 8 and 12: 16 bytes of each. */
CSE_LANES __m512i cse_few_rows_of_four(const char *const rows[], int64_t at)
{
    __m512i all = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i_u *)(rows[0] + at)));
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[4] + at)), 1);
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[8] + at)), 2);
    return _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[12] + at)), 3);
}

/* Words of 16 bytes of each row: words[i] has word i of all rows. */
CSE_LANES void cse_few_rows_turn(const char *const rows[], int64_t at, __m512i words[4])
{
    const __m512i a = cse_few_rows_of_four(rows, at), b = cse_few_rows_of_four(rows + 1, at);
    const __m512i c = cse_few_rows_of_four(rows + 2, at), d = cse_few_rows_of_four(rows + 3, at);
    const __m512i low = _mm512_unpacklo_epi32(a, b), high = _mm512_unpackhi_epi32(a, b);
    const __m512i low_2 = _mm512_unpacklo_epi32(c, d), high_2 = _mm512_unpackhi_epi32(c, d);
    words[0] = _mm512_unpacklo_epi64(low, low_2);
    words[1] = _mm512_unpackhi_epi64(low, low_2);
    words[2] = _mm512_unpacklo_epi64(high, high_2);
    words[3] = _mm512_unpackhi_epi64(high, high_2);
}

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
