/* Maxima of windows 2 x 2 with stride 2, sixteen windows of a row at a time, for AVX-512. The last
 * ones of a row are masked, so that narrow planes take one pass of vectors a row as well. */
#include <string.h>

#include "engine/code/kernels/lanes.h"
#include "engine/code/kernels/pool2d.h"

#if defined(__x86_64__) && defined(__GNUC__)

enum { AHEAD = 1024 }; /* elements that are fetched before they are read */

/* The lanes of up to 16 windows, and those of the two vectors of their 32 columns. */
typedef struct span {
    __mmask16 windows, low, high;
} span;

/* The even and the odd columns of sixteen windows. */
typedef struct columns {
    __m512 even, odd;
} columns;

CSE_LANES span span_of(int64_t count)
{
    const int64_t high = 2 * count - CSE_LANE_COUNT;
    return (span){ cse_lanes_of(count), cse_lanes_of(2 * count),
                   cse_lanes_of(high > 0 ? high : 0) };
}

CSE_LANES columns load_columns(const float *row, span at)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512 low = _mm512_maskz_loadu_ps(at.low, row);
    const __m512 high = _mm512_maskz_loadu_ps(at.high, row + CSE_LANE_COUNT);
    return (
        columns){ _mm512_permutex2var_ps(low, even, high),
                  _mm512_permutex2var_ps(low, _mm512_add_epi32(even, _mm512_set1_epi32(1)), high) };
}

/* Not by the processor's maximum, which would flush subnormal numbers. */
CSE_LANES __m512 later(__m512 result, __m512 x)
{
    const __mmask16 larger = _mm512_cmp_ps_mask(x, result, _CMP_GT_OQ);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(result, (__mmask16)(larger | nan), x);
}

/* Lanes where x is the first maximum among it and what came before. */
CSE_LANES __mmask16 takes(__m512 largest, __m512 x)
{
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __mmask16 larger = _mm512_cmp_ps_mask(x, largest, _CMP_GT_OQ);
    return (__mmask16)(larger | _mm512_mask_cmp_ps_mask(nan, largest, largest, _CMP_ORD_Q));
}

CSE_LANES void pool_block(const float *values, int64_t size, float *pooled, span at)
{
    const columns top = load_columns(values, at), bottom = load_columns(values + size, at);
    const __m512 result = later(later(top.even, top.odd), bottom.even);
    _mm512_mask_storeu_ps(pooled, at.windows, later(result, bottom.odd));
}

/* `share` goes to the even columns of the lanes `even` and to the odd ones of `odd`. */
CSE_LANES void give(float *row, span at, __m512 share, const __mmask16 lanes[2])
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512 even = _mm512_maskz_mov_ps(lanes[0], share);
    const __m512 odd = _mm512_maskz_mov_ps(lanes[1], share);
    _mm512_mask_storeu_ps(row, at.low, _mm512_permutex2var_ps(even, low, odd));
    _mm512_mask_storeu_ps(
        row + CSE_LANE_COUNT, at.high,
        _mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd));
}

CSE_LANES void give_block(const float *values, float *gradient, int64_t size, const float *pooled,
                          span at)
{
    const columns top = load_columns(values, at), bottom = load_columns(values + size, at);
    const __m512 share =
        _mm512_add_ps(_mm512_maskz_loadu_ps(at.windows, pooled), _mm512_setzero_ps());
    const __mmask16 second = takes(top.even, top.odd);
    __m512 largest = _mm512_mask_mov_ps(top.even, second, top.odd);
    const __mmask16 third = takes(largest, bottom.even);
    largest = _mm512_mask_mov_ps(largest, third, bottom.even);
    const __mmask16 fourth = takes(largest, bottom.odd);
    const __mmask16 above[2] = { (__mmask16) ~(second | third | fourth),
                                 (__mmask16)(second & ~(third | fourth)) };
    const __mmask16 below[2] = { (__mmask16)(third & ~fourth), fourth };
    give(gradient, at, share, above);
    give(gradient + size, at, share, below);
}

CSE_AVX512 static void pool(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    const int64_t size = kernel->sizes[1], count = kernel->pooled[1];
    const int64_t whole = count / CSE_LANE_COUNT * CSE_LANE_COUNT;
    const span all = span_of(CSE_LANE_COUNT), rest = span_of(count - whole);
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const float *values = plane->values + 2 * row * size;
        float *pooled = plane->pooled + row * count;
        for (int64_t i = 0; i < whole; i += CSE_LANE_COUNT)
            pool_block(values + 2 * i, size, pooled + i, all);
        if (whole < count)
            pool_block(values + 2 * whole, size, pooled + whole, rest);
    }
}

/* Fetches what will be read and written some rows later. The planes were computed long ago, and the
 * two rows of a window are too short for the processor to foresee what comes after them. */
CSE_LANES void fetch_next(const float *values, const float *gradient, int64_t size)
{
    for (int64_t i = 0; i < 2 * size; i += CSE_LANE_COUNT) {
        __builtin_prefetch(values + i, 0, 2);
        __builtin_prefetch(gradient + i, 1, 2);
    }
}

CSE_AVX512 static void pool_gradient(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    const int64_t size = kernel->sizes[1], count = kernel->pooled[1];
    const int64_t whole = count / CSE_LANE_COUNT * CSE_LANE_COUNT;
    const span all = span_of(CSE_LANE_COUNT), rest = span_of(count - whole);
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const float *values = plane->values + 2 * row * size, *pooled = plane->pooled + row * count;
        float *gradient = plane->gradient + 2 * row * size;
        fetch_next(values + AHEAD, gradient + AHEAD, size);
        for (int64_t i = 0; i < whole; i += CSE_LANE_COUNT)
            give_block(values + 2 * i, gradient + 2 * i, size, pooled + i, all);
        if (whole < count)
            give_block(values + 2 * whole, gradient + 2 * whole, size, pooled + whole, rest);
        if (size % 2 != 0) /* the last column is in no window */
            gradient[size - 1] = gradient[2 * size - 1] = 0;
    }
    if (kernel->sizes[0] % 2 != 0)
        memset(plane->gradient + (kernel->sizes[0] - 1) * size, 0, (size_t)size * sizeof(float));
}

static void run(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    (kernel->gradient ? pool_gradient : pool)(kernel, plane);
}

static bool fits(const cse_pool2d *kernel)
{
    return cse_lanes_run_here() && cse_pool2d_is_in_pairs(kernel);
}

const cse_pool2d_way cse_pool2d_pairs_avx512 = { .name = "pairs:avx512", .fits = fits, .run = run };

#else

static bool fits(const cse_pool2d *kernel)
{
    (void)kernel;
    return false;
}

const cse_pool2d_way cse_pool2d_pairs_avx512 = { .name = "pairs:avx512", .fits = fits };

#endif
