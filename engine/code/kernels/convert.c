/* Conversion of arrays; see convert.h. The loops in vectors are in convert_in_lanes.h. */
#include "engine/code/kernels/convert.h"

#include <string.h>

#include "engine/base/instruction_set.h"

static void widen_plain(cse_dtype dtype, const void *values, float *to, int64_t count)
{
    const uint16_t *from = values;
    for (int64_t i = 0; i < count; i++)
        to[i] = dtype == CSE_BFLOAT16 ? cse_float_from_bfloat16(from[i])
                                      : cse_float_from_format(dtype, from[i]);
}

static void narrow_plain(cse_dtype dtype, const float *from, void *values, int64_t count)
{
    uint16_t *to = values;
    for (int64_t i = 0; i < count; i++)
        to[i] = cse_round_to_bits(dtype, from[i]);
}

typedef void widen_function(cse_dtype dtype, const void *from, float *to, int64_t count);
typedef void narrow_function(cse_dtype dtype, const float *from, void *to, int64_t count);

/* The fastest of three for this machine. */
#if defined(__x86_64__) && defined(__GNUC__)
#define FASTEST(name)                                         \
    (cse_isa_runs(CSE_ISA_AVX512) ? cse_##name##_array_avx512 \
     : cse_isa_runs(CSE_ISA_AVX2) ? cse_##name##_array_avx2   \
                                  : name##_plain)
#else
#define FASTEST(name) name##_plain
#endif

void cse_widen(cse_dtype dtype, const void *from, float *to, int64_t count)
{
    widen_function *const widen = FASTEST(widen);
    if (dtype == CSE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else
        widen(dtype, from, to, count);
}

void cse_narrow(cse_dtype dtype, const float *from, void *to, int64_t count)
{
    narrow_function *const narrow = FASTEST(narrow);
    if (dtype == CSE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *from);
    else
        narrow(dtype, from, to, count);
}
