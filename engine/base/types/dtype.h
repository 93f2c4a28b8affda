/* Conversion between float32 and the 16-bit formats, on bits.
 *
 * Formats (sign-exponent-mantissa): bfloat16 1-8-7, float16 1-5-10, cbfloat16 1-6-9 (bias 31 and
 * IEEE-like specials). Round to nearest, ties to even; NaN stays NaN. */
#ifndef CSE_TYPES_DTYPE_H
#define CSE_TYPES_DTYPE_H

#include <stdint.h>
#include <string.h>

#include "csengine/tensor.h"
#include "engine/base/types/narrow.h"

static inline uint32_t cse_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float cse_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t cse_bfloat16_from_float(float value)
{
    uint32_t bits = cse_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline float cse_float_from_bfloat16(uint16_t bits)
{
    return cse_float_from_bits((uint32_t)bits << 16);
}

/* The nearest value of `dtype`, as its bits (16-bit formats only). */
uint16_t cse_round_to_bits(cse_dtype dtype, float value);

/* Stochastic rounding by 32 random bits, as engine/base/types/narrow.h defines it: as the format's
 * bits (16-bit formats only), and as the value (a float32 is unchanged). */
uint16_t cse_round_stochastic_to_bits(cse_dtype format, float value, uint32_t random_bits);
float cse_round_stochastic(cse_dtype format, float value, uint32_t random_bits);

/* The same without branches on the value, for kernels; NaNs may differ in their payload. */
static inline uint16_t cse_store_format(cse_dtype dtype, float value)
{
    return dtype == CSE_BFLOAT16  ? cse_store_bfloat16(value)
           : dtype == CSE_FLOAT16 ? cse_store_float16(value)
                                  : cse_store_cbfloat16(value);
}

/* The exact float32 value of 16-bit `bits` in `dtype`. */
float cse_float_from_format(cse_dtype dtype, uint16_t bits);

#endif
