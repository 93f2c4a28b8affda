/* Conversion of arrays; see convert.h. One loop for each format, so that no loop tests for it. */
#include "engine/kernels/convert.h"

#include "engine/kernels/lanes.h"

static void widen_plain(cse_dtype dtype, const uint16_t *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = dtype == CSE_BFLOAT16 ? cse_float_from_bfloat16(from[i])
                                      : cse_float_from_format(dtype, from[i]);
}

static void narrow_plain(cse_dtype dtype, const float *from, uint16_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = cse_round_to_bits(dtype, from[i]);
}

#if defined(__x86_64__) && defined(__GNUC__)

CSE_LANES void widen_as(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += CSE_LANE_COUNT) {
        __mmask16 lanes = cse_lanes_of(count - i);
        _mm512_mask_storeu_ps(to + i, lanes, cse_lanes_load(dtype, from, i, lanes));
    }
}

CSE_LANES void narrow_as(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += CSE_LANE_COUNT) {
        __mmask16 lanes = cse_lanes_of(count - i);
        cse_lanes_store(dtype, to, i, lanes, _mm512_maskz_loadu_ps(lanes, from + i));
    }
}

CSE_AVX512 static bool widen_fast(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    if (dtype == CSE_BFLOAT16)
        widen_as(CSE_BFLOAT16, from, to, count);
    else if (dtype == CSE_FLOAT16)
        widen_as(CSE_FLOAT16, from, to, count);
    else
        widen_as(CSE_CBFLOAT16, from, to, count);
    return true;
}

CSE_AVX512 static bool narrow_fast(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    if (dtype == CSE_BFLOAT16)
        narrow_as(CSE_BFLOAT16, from, to, count);
    else if (dtype == CSE_FLOAT16)
        narrow_as(CSE_FLOAT16, from, to, count);
    else
        narrow_as(CSE_CBFLOAT16, from, to, count);
    return true;
}

#else

static bool cse_lanes_run_here(void)
{
    return false;
}

static bool widen_fast(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    return (void)dtype, (void)from, (void)to, (void)count, false;
}

static bool narrow_fast(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    return (void)dtype, (void)from, (void)to, (void)count, false;
}

#endif

void cse_widen(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    if (dtype == CSE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else if (!cse_lanes_run_here() || !widen_fast(dtype, from, to, count))
        widen_plain(dtype, from, to, count);
}

void cse_narrow(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    if (dtype == CSE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *from);
    else if (!cse_lanes_run_here() || !narrow_fast(dtype, from, to, count))
        narrow_plain(dtype, from, to, count);
}
