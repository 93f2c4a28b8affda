/* The vectors that attention_rows.h is written over, for AVX-512. */
#ifndef CSE_KERNELS_ATTENTION_LANES_H
#define CSE_KERNELS_ATTENTION_LANES_H

#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* FTZ and DAZ of the control register. */
enum { LANES = CSE_LANE_COUNT, ROWS_IN_TURN = 4, CSE_FLUSH_BITS = 0x8040 };

typedef __m512 lanes;

CSE_LANES lanes load_lanes(const float *at)
{
    return _mm512_load_ps(at);
}

CSE_LANES void store_lanes(float *at, lanes x)
{
    _mm512_store_ps(at, x);
}

CSE_LANES lanes set_lanes(float value)
{
    return _mm512_set1_ps(value);
}

CSE_LANES lanes fma_lanes(lanes a, lanes b, lanes c)
{
    return _mm512_fmadd_ps(a, b, c);
}

CSE_LANES lanes mul_lanes(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

CSE_LANES lanes add_lanes(lanes a, lanes b)
{
    return _mm512_add_ps(a, b);
}

CSE_LANES lanes sub_lanes(lanes a, lanes b)
{
    return _mm512_sub_ps(a, b);
}

CSE_LANES lanes max_lanes(lanes a, lanes b)
{
    return _mm512_max_ps(a, b);
}

CSE_LANES lanes min_lanes(lanes a, lanes b)
{
    return _mm512_min_ps(a, b);
}

CSE_LANES lanes nearest_lanes(lanes x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CSE_LANES lanes scale_lanes(lanes x, lanes n)
{
    return _mm512_scalef_ps(x, n);
}

CSE_LANES float sum_lanes(lanes x)
{
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

CSE_LANES float maximum_lanes(lanes x)
{
    return _mm512_reduce_max_ps(x);
}

/* Lanes [0, count), of any count. */
CSE_LANES __mmask16 first_lanes(int64_t count)
{
    return count <= 0 ? 0 : cse_lanes_of(count);
}

CSE_LANES lanes keep_lanes(lanes x, int64_t from, int64_t end)
{
    return _mm512_maskz_mov_ps((__mmask16)(first_lanes(end) & ~first_lanes(from)), x);
}

/* Minus infinity from lane `count` on. */
CSE_LANES lanes lowest_lanes(lanes x, int64_t count)
{
    return _mm512_mask_mov_ps(set_lanes(-__builtin_inff()), first_lanes(count), x);
}

CSE_LANES lanes span_lanes(lanes x, const cse_attention_spans *spans, int64_t at, int32_t query,
                           float other)
{
    const __m512i number = _mm512_set1_epi32(query);
    const __m512i begins = _mm512_loadu_si512(spans->begins + at);
    const __m512i ends = _mm512_loadu_si512(spans->ends + at);
    const __mmask16 seen =
        _mm512_mask_cmpgt_epi32_mask(_mm512_cmple_epi32_mask(begins, number), ends, number);
    return _mm512_mask_mov_ps(set_lanes(other), seen, x);
}

CSE_LANES lanes read_lanes(cse_dtype dtype, const void *at, int64_t index, int64_t count)
{
    return dtype == CSE_FLOAT32 ? cse_lanes_load(CSE_FLOAT32, at, index, first_lanes(count))
                                : cse_lanes_load(CSE_BFLOAT16, at, index, first_lanes(count));
}

CSE_LANES void write_lanes(cse_dtype dtype, void *at, int64_t index, int64_t count, lanes x)
{
    if (dtype == CSE_FLOAT32)
        cse_lanes_store(CSE_FLOAT32, at, index, first_lanes(count), x);
    else
        cse_lanes_store(CSE_BFLOAT16, at, index, first_lanes(count), x);
}

/* Words of `count` elements of a row from `at` on; missing ones are 0. */
CSE_LANES lanes read_words(cse_dtype dtype, const void *row, int64_t at, int64_t count)
{
    if (dtype == CSE_FLOAT32)
        return _mm512_maskz_loadu_ps(first_lanes(count), (const float *)row + at);
    const __mmask32 halves = count <= 0 ? 0u : count >= 32 ? ~0u : (1u << count) - 1u;
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(halves, (const uint16_t *)row + at));
}

#endif
#endif
