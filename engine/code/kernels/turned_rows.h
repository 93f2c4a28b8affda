/* Rows that are contiguous in memory as vectors of columns, in AVX-512: 16 rows are turned in
 * registers, four words of 32 bits of each at a time. */
#ifndef CSE_KERNELS_TURNED_ROWS_H
#define CSE_KERNELS_TURNED_ROWS_H

#include "engine/code/kernels/lanes.h"

/* Rows 0, 4, 8 and 12: 16 bytes of each. */
CSE_LANES __m512i cse_four_rows(const char *const rows[], int64_t at)
{
    __m512i all = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i_u *)(rows[0] + at)));
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[4] + at)), 1);
    all = _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[8] + at)), 2);
    return _mm512_inserti32x4(all, _mm_loadu_si128((const __m128i_u *)(rows[12] + at)), 3);
}

/* Words of 16 bytes of each of 16 rows, from byte `at` on: words[i] has word i of all rows. */
CSE_LANES void cse_turn_rows(const char *const rows[], int64_t at, __m512i words[4])
{
    const __m512i a = cse_four_rows(rows, at), b = cse_four_rows(rows + 1, at);
    const __m512i c = cse_four_rows(rows + 2, at), d = cse_four_rows(rows + 3, at);
    const __m512i low = _mm512_unpacklo_epi32(a, b), high = _mm512_unpackhi_epi32(a, b);
    const __m512i low_2 = _mm512_unpacklo_epi32(c, d), high_2 = _mm512_unpackhi_epi32(c, d);
    words[0] = _mm512_unpacklo_epi64(low, low_2);
    words[1] = _mm512_unpackhi_epi64(low, low_2);
    words[2] = _mm512_unpacklo_epi64(high, high_2);
    words[3] = _mm512_unpackhi_epi64(high, high_2);
}

#endif
