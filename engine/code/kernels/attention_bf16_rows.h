/* The parts of attention that go by rows, for pairs of bfloat16 with AVX-512's rounding to them
 * (VCVTNEPS2BF16): what the vector units' way and the matrix units' share. To be included behind
 * attention_lanes.h. */
#ifndef CSE_KERNELS_ATTENTION_BF16_ROWS_H
#define CSE_KERNELS_ATTENTION_BF16_ROWS_H

#define CSE_AVX512_BF16                                                                        \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,prefer-vector-width=" \
                          "512")))
#define ROWS_FUNCTION CSE_AVX512_BF16 static
#define ROWS_INLINE static inline __attribute__((always_inline)) CSE_AVX512_BF16

ROWS_INLINE __m256i narrow_lanes(lanes x)
{
    return (__m256i)_mm512_cvtneps_pbh(x);
}

/* Where no lane is subnormal or not a number, the instruction rounds as storing does, which keeps
 * subnormal numbers and has one NaN. */
ROWS_INLINE void write_whole_lanes(cse_dtype dtype, void *at, int64_t index, lanes x)
{
    enum { QUIET_NAN = 0x01, SUBNORMAL = 0x20, SIGNALING_NAN = 0x80 };
    if (dtype == CSE_BFLOAT16 &&
        _mm512_fpclass_ps_mask(x, QUIET_NAN | SUBNORMAL | SIGNALING_NAN) == 0)
        _mm256_storeu_si256((__m256i_u *)((uint16_t *)at + index), narrow_lanes(x));
    else
        write_lanes(dtype, at, index, LANES, x);
}

/* Two vectors become one, whose halves are stored and put in turn. */
ROWS_INLINE lanes pack_two(uint16_t *low_at, uint16_t *high_at, lanes low, lanes high)
{
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i in_turn = _mm512_or_epi32(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(LANES)), 16));
    _mm256_store_si256((__m256i *)(void *)low_at, _mm512_castsi512_si256(both));
    _mm256_store_si256((__m256i *)(void *)high_at, _mm512_extracti64x4_epi64(both, 1));
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(in_turn, both));
}

#include "engine/code/kernels/attention_pack.h"

#define ROWS_NARROW_QUICKLY
#include "engine/code/kernels/attention_rows.h"

#endif
