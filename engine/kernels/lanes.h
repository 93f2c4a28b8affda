/* Sixteen elements of any float type as one AVX-512 vector of float32, and back.
 *
 * Loading is exact. Storing rounds once, to nearest even, with the same bits as cse_round_to_bits.
 * Callers pass the type as a constant, so that inlining removes every test of it from their loops.
 * Neither depends on whether the process flushes subnormals: fields are moved as integers, and
 * values computed as floats stay normal. */
#ifndef CSE_KERNELS_LANES_H
#define CSE_KERNELS_LANES_H

#include "engine/types/dtype.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define CSE_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#define CSE_LANES static inline __attribute__((always_inline)) CSE_AVX512

enum { CSE_LANE_COUNT = 16 };

static inline bool cse_lanes_run_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

/* The first `count` lanes. */
static inline __mmask16 cse_lanes_of(int64_t count)
{
    return (__mmask16)(count >= CSE_LANE_COUNT ? 0xffffu : (1u << count) - 1u);
}

CSE_LANES __m512 cse_lanes_from_bfloat16(__m256i bits)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* Exponent and mantissa are moved to their places and the bias corrected; subnormals are whole
 * multiples of the smallest one, 2^-39. */
CSE_LANES __m512 cse_lanes_from_cbfloat16(__m256i bits)
{
    const __m512i wide = _mm512_cvtepu16_epi32(bits);
    const __m512i magnitude = _mm512_and_epi32(wide, _mm512_set1_epi32(0x7fff));
    const __m512i moved = _mm512_slli_epi32(magnitude, 14);
    const __mmask16 small = _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(1 << 9));
    const __mmask16 special = _mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(63 << 9));
    __m512i value = _mm512_add_epi32(moved, _mm512_set1_epi32((127 - 31) << 23));
    value = _mm512_mask_add_epi32(value, special, moved, _mm512_set1_epi32((255 - 63) << 23));
    const __m512 multiple = _mm512_mul_ps(_mm512_cvtepi32_ps(magnitude), _mm512_set1_ps(0x1p-39f));
    value = _mm512_mask_mov_epi32(value, small, _mm512_castps_si512(multiple));
    const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(wide, 15), 31);
    return _mm512_castsi512_ps(_mm512_or_epi32(value, sign));
}

/* Elements `at` to at + 15 of `from`; lanes outside the mask are 0 and not read. */
CSE_LANES __m512 cse_lanes_load(cse_dtype dtype, const void *from, int64_t at, __mmask16 lanes)
{
    if (dtype == CSE_FLOAT32)
        return _mm512_maskz_loadu_ps(lanes, (const float *)from + at);
    const __m256i bits = _mm256_maskz_loadu_epi16(lanes, (const uint16_t *)from + at);
    if (dtype == CSE_BFLOAT16)
        return cse_lanes_from_bfloat16(bits);
    return dtype == CSE_FLOAT16 ? _mm512_cvtph_ps(bits) : cse_lanes_from_cbfloat16(bits);
}

/* A NaN becomes the quiet NaN `quiet` with its own sign. */
CSE_LANES __m512i cse_lanes_with_nan(__m512i rounded, __m512 x, int quiet)
{
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(_mm512_castps_si512(x), 31), 15);
    return _mm512_mask_or_epi32(rounded, nan, sign, _mm512_set1_epi32(quiet));
}

CSE_LANES __m256i cse_lanes_to_bfloat16(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    rounded = cse_lanes_with_nan(_mm512_srli_epi32(rounded, 16), x, 0x7fc0);
    return _mm512_cvtepi32_epi16(rounded);
}

CSE_LANES __m256i cse_lanes_to_float16(__m512 x)
{
    const __m256i rounded = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_cvtepi32_epi16(cse_lanes_with_nan(_mm512_cvtepu16_epi32(rounded), x, 0x7e00));
}

/* Normal results: the dropped bits are rounded as integers, and a carry increments the exponent.
 * Subnormal results: adding 2^-16 rounds to a multiple of 2^-39, the smallest subnormal number. */
CSE_LANES __m256i cse_lanes_to_cbfloat16(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i magnitude = _mm512_and_epi32(bits, _mm512_set1_epi32(0x7fffffff));
    const __m512i infinity = _mm512_set1_epi32(63 << 9);
    const __m512i moved = _mm512_sub_epi32(magnitude, _mm512_set1_epi32((127 - 31) << 23));
    const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(moved, 14), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(moved, _mm512_set1_epi32(0x1fff)), odd);
    rounded = _mm512_srli_epi32(rounded, 14);
    const __mmask16 small = _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32((128 - 31) << 23));
    const __m512 ruler = _mm512_set1_ps(0x1p-16f);
    const __m512 sum = _mm512_add_ps(_mm512_castsi512_ps(magnitude), ruler);
    rounded =
        _mm512_mask_sub_epi32(rounded, small, _mm512_castps_si512(sum), _mm512_castps_si512(ruler));
    const __mmask16 large = _mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
    rounded = _mm512_mask_mov_epi32(_mm512_min_epu32(rounded, infinity), large, infinity);
    const __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(bits, 31), 15);
    rounded = cse_lanes_with_nan(_mm512_or_epi32(rounded, sign), x, 0x7f00);
    return _mm512_cvtepi32_epi16(rounded);
}

/* Rounds `x` to elements `at` to at + 15 of `to`; lanes outside the mask are not written. */
CSE_LANES void cse_lanes_store(cse_dtype dtype, void *to, int64_t at, __mmask16 lanes, __m512 x)
{
    if (dtype == CSE_FLOAT32)
        _mm512_mask_storeu_ps((float *)to + at, lanes, x);
    else
        _mm256_mask_storeu_epi16((uint16_t *)to + at, lanes,
                                 dtype == CSE_BFLOAT16  ? cse_lanes_to_bfloat16(x)
                                 : dtype == CSE_FLOAT16 ? cse_lanes_to_float16(x)
                                                        : cse_lanes_to_cbfloat16(x));
}

#define CSE_UNROLL _Pragma("GCC unroll 16")

/* Transposes a 16 x 16 block of 32-bit elements in registers. */
CSE_LANES void cse_lanes_transpose(__m512 x[CSE_LANE_COUNT])
{
    __m512 y[CSE_LANE_COUNT];
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 2)
    {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i += 4)
    {
        CSE_UNROLL for (int j = 0; j < 2; j++)
        {
            __m512d low = _mm512_castps_pd(y[i + j]), high = _mm512_castps_pd(y[i + 2 + j]);
            x[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            x[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    /* x[4 i + j] holds, in its quarter q, column 4 q + j of rows 4 i to 4 i + 3. */
    CSE_UNROLL for (int j = 0; j < 4; j++)
    {
        __m512 low = _mm512_shuffle_f32x4(x[j], x[4 + j], 0x88);
        __m512 low_odd = _mm512_shuffle_f32x4(x[j], x[4 + j], 0xdd);
        __m512 high = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0x88);
        __m512 high_odd = _mm512_shuffle_f32x4(x[8 + j], x[12 + j], 0xdd);
        y[j] = _mm512_shuffle_f32x4(low, high, 0x88);
        y[8 + j] = _mm512_shuffle_f32x4(low, high, 0xdd);
        y[4 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
        y[12 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
    }
    CSE_UNROLL for (int i = 0; i < CSE_LANE_COUNT; i++) x[i] = y[i];
}

#endif
#endif
