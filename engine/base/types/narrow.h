/* The 16-bit formats, stored and loaded without branches, so that compilers vectorise it: bfloat16
 * (1-8-7), float16 (1-5-10), cbfloat16 (1-6-9, bias 31, IEEE-like specials).
 *
 * Each format has cse_load_*, cse_store_* (to nearest, ties to even), cse_round_* (store, then
 * load), both also with _stochastic, and cse_store_rounded_* for a value that the format holds
 * exactly. This text is also embedded in generated code, so that rounding has one definition.
 *
 * Stochastic rounding of a finite x between neighbours low <= |x| < high of the format: let F be
 * (|x| - low) / (high - low) as a fraction of 32 bits, truncated. The result is high if F exceeds
 * the 32 random bits, else low, with the sign of x. So F of all 2^32 random numbers give high, and
 * the mean over them is x itself, except for truncated bits: none for normal results (which drop at
 * most 16 bits), less than 2^-32 of the distance for subnormal ones. A value of the format is
 * unchanged. Above the largest finite value, `high` is infinity, at the place of the next power of
 * two; values from there on become infinite. NaN stays NaN. Where a result is normal, only the
 * upper 16 random bits matter. */
#ifndef CSE_TYPES_NARROW_H
#define CSE_TYPES_NARROW_H

#include <stdint.h>

/* Forces inlining: a call that the compiler leaves in a loop prevents its vectorisation. */
#define CSE_INLINE static inline __attribute__((always_inline))

/* ---- bits ---- */

CSE_INLINE int32_t cse_bits(float x)
{
    int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

CSE_INLINE float cse_from_bits(int32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- bfloat16 as stored ---- */

CSE_INLINE float cse_load_bfloat16(uint16_t bits)
{
    return cse_from_bits((int32_t)((uint32_t)bits << 16));
}

/* Nearest, ties to even; NaN stays NaN: the bits as float32, of which the upper half is the result.
 */
CSE_INLINE uint32_t cse_nearest_bfloat16(float x)
{
    const uint32_t bits = (uint32_t)cse_bits(x);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    return x != x ? bits | 0x400000 : rounded;
}

CSE_INLINE uint16_t cse_store_bfloat16(float x)
{
    return (uint16_t)(cse_nearest_bfloat16(x) >> 16);
}

CSE_INLINE float cse_round_bfloat16(float x)
{
    return cse_from_bits((int32_t)(cse_nearest_bfloat16(x) & 0xffff0000u));
}

/* For a value that the format holds exactly. */
CSE_INLINE uint16_t cse_store_rounded_bfloat16(float x)
{
    return (uint16_t)((uint32_t)cse_bits(x) >> 16);
}

/* ---- float16 and cbfloat16 as stored: `mantissa` explicit bits, exponent bias `bias` ---- */

CSE_INLINE float cse_load_narrow(uint16_t bits, int mantissa, int bias)
{
    const int32_t magnitude = bits & 0x7fff, shift = 23 - mantissa;
    const int32_t infinity = ((1 << (15 - mantissa)) - 1) << mantissa;
    const int32_t normal = (magnitude << shift) + ((127 - bias) << 23);
    const int32_t special = 0x7f800000 | (int32_t)((uint32_t)(magnitude - infinity) << shift);
    /* Subnormals are whole multiples of the smallest one. */
    const int32_t small = cse_bits((float)magnitude * cse_from_bits((128 - bias - mantissa) << 23));
    /* Masks, since a compiler that respects floating-point traps would branch around the
     * product. */
    const int32_t is_small = -(magnitude < 1 << mantissa), is_finite = -(magnitude < infinity);
    const int32_t finite = (small & is_small) | (normal & ~is_small);
    return cse_from_bits((finite & is_finite) | (special & ~is_finite) |
                         (int32_t)((uint32_t)(bits & 0x8000) << 16));
}

/* Nearest, ties to even; NaN stays NaN. */
CSE_INLINE uint16_t cse_store_narrow(float x, int mantissa, int bias)
{
    const uint32_t bits = (uint32_t)cse_bits(x), magnitude = bits & 0x7fffffffu;
    const uint32_t shift = 23 - (uint32_t)mantissa;
    const uint32_t infinity = ((1u << (15 - mantissa)) - 1) << mantissa;
    const uint32_t least_normal = (uint32_t)(128 - bias) << 23;
    const uint32_t moved = magnitude - ((uint32_t)(127 - bias) << 23);
    const uint32_t normal = (moved + (1u << (shift - 1)) - 1 + (moved >> shift & 1)) >> shift;
    /* The last bit of a sum with this is the smallest subnormal, so that the addition rounds. */
    const float ruler = cse_from_bits((151 - bias - mantissa) << 23);
    const uint32_t small =
        (uint32_t)(cse_bits(cse_from_bits((int32_t)magnitude) + ruler) - cse_bits(ruler));
    const uint32_t rounded = magnitude < least_normal ? small : normal;
    const uint32_t finite = rounded < infinity && magnitude < 0x7f800000u ? rounded : infinity;
    const uint32_t nan = infinity | 1u << (mantissa - 1);
    return (uint16_t)((magnitude > 0x7f800000u ? nan : finite) | (bits >> 16 & 0x8000));
}

/* cse_load_narrow of cse_store_narrow, without the conversion to 16 bits in between. */
CSE_INLINE float cse_round_narrow(float x, int mantissa, int bias)
{
    const uint32_t bits = (uint32_t)cse_bits(x), magnitude = bits & 0x7fffffffu;
    const uint32_t shift = 23 - (uint32_t)mantissa, dropped = (1u << shift) - 1;
    const uint32_t least_normal = (uint32_t)(128 - bias) << 23;
    const uint32_t beyond = (uint32_t)(126 - bias + (1 << (15 - mantissa))) << 23;
    const uint32_t normal = (magnitude + (dropped >> 1) + (magnitude >> shift & 1)) & ~dropped;
    const float ruler = cse_from_bits((151 - bias - mantissa) << 23);
    const uint32_t small = (uint32_t)cse_bits(cse_from_bits((int32_t)magnitude) + ruler - ruler);
    const uint32_t is_small = -(uint32_t)(magnitude < least_normal);
    const uint32_t rounded = (small & is_small) | (normal & ~is_small);
    const uint32_t finite = rounded < beyond ? rounded : 0x7f800000u;
    return cse_from_bits(
        (int32_t)((magnitude > 0x7f800000u ? 0x7fc00000u : finite) | (bits & 0x80000000u)));
}

/* cse_store_narrow of a value of the format: nothing is left to round. */
CSE_INLINE uint16_t cse_store_rounded_narrow(float x, int mantissa, int bias)
{
    const uint32_t bits = (uint32_t)cse_bits(x), magnitude = bits & 0x7fffffffu;
    const uint32_t shift = 23 - (uint32_t)mantissa;
    const uint32_t least_normal = (uint32_t)(128 - bias) << 23;
    const float ruler = cse_from_bits((151 - bias - mantissa) << 23);
    const uint32_t small =
        (uint32_t)(cse_bits(cse_from_bits((int32_t)magnitude) + ruler) - cse_bits(ruler));
    const uint32_t is_small = -(uint32_t)(magnitude < least_normal);
    /* Infinity and NaN have the largest exponent in both formats. */
    const uint32_t top = (uint32_t)((1 << (15 - mantissa)) - 1);
    const uint32_t lower = magnitude < 0x7f800000u ? (uint32_t)(127 - bias) : 255 - top;
    const uint32_t normal = (magnitude - (lower << 23)) >> shift;
    return (uint16_t)((small & is_small) | (normal & ~is_small) | (bits >> 16 & 0x8000));
}

/* ---- stochastic rounding ---- */

CSE_INLINE uint16_t cse_store_bfloat16_stochastic(float x, uint32_t random)
{
    const uint32_t bits = (uint32_t)cse_bits(x), cut = bits >> 16;
    const uint32_t up = bits << 16 > random ? 1 : 0;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? cut | 0x40 : cut + up);
}

CSE_INLINE uint16_t cse_store_narrow_stochastic(float x, uint32_t random, int mantissa, int bias)
{
    const uint32_t bits = (uint32_t)cse_bits(x), magnitude = bits & 0x7fffffffu;
    const uint32_t infinity = ((1u << (15 - mantissa)) - 1) << mantissa;
    const uint32_t exponent = magnitude >> 23, least = (uint32_t)(128 - bias);
    const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    /* Bits of the significand left out: the more, the further below the smallest normal value. */
    const uint32_t below = exponent < least ? least - exponent : 0;
    const uint32_t all = 23 - (uint32_t)mantissa + below, left_out = all < 63 ? all : 63;
    const uint32_t whole = significand >> (left_out < 31 ? left_out : 31);
    const uint32_t field = (exponent > least ? exponent - least : 0) << mantissa;
    const uint32_t fraction =
        left_out <= 32 ? significand << (32 - left_out) : significand >> (left_out - 32);
    const uint32_t rounded = field + whole + (fraction > random ? 1 : 0);
    const uint32_t finite = rounded < infinity && magnitude < 0x7f800000u ? rounded : infinity;
    const uint32_t nan = infinity | 1u << (mantissa - 1);
    return (uint16_t)((magnitude > 0x7f800000u ? nan : finite) | (bits >> 16 & 0x8000));
}

CSE_INLINE float cse_round_bfloat16_stochastic(float x, uint32_t random)
{
    return cse_load_bfloat16(cse_store_bfloat16_stochastic(x, random));
}

/* ---- float16 and cbfloat16 ---- */

#define CSE_NARROW_FORMAT(format, mantissa, bias)                                 \
    CSE_INLINE float cse_load_##format(uint16_t bits)                             \
    {                                                                             \
        return cse_load_narrow(bits, mantissa, bias);                             \
    }                                                                             \
    CSE_INLINE uint16_t cse_store_##format(float x)                               \
    {                                                                             \
        return cse_store_narrow(x, mantissa, bias);                               \
    }                                                                             \
    CSE_INLINE float cse_round_##format(float x)                                  \
    {                                                                             \
        return cse_round_narrow(x, mantissa, bias);                               \
    }                                                                             \
    CSE_INLINE uint16_t cse_store_rounded_##format(float x)                       \
    {                                                                             \
        return cse_store_rounded_narrow(x, mantissa, bias);                       \
    }                                                                             \
    CSE_INLINE uint16_t cse_store_##format##_stochastic(float x, uint32_t random) \
    {                                                                             \
        return cse_store_narrow_stochastic(x, random, mantissa, bias);            \
    }                                                                             \
    CSE_INLINE float cse_round_##format##_stochastic(float x, uint32_t random)    \
    {                                                                             \
        return cse_load_##format(cse_store_##format##_stochastic(x, random));     \
    }
CSE_NARROW_FORMAT(float16, 10, 15)
CSE_NARROW_FORMAT(cbfloat16, 9, 31)

/* The format of `mantissa` explicit bits: 7, 9 or 10. */
static inline float cse_round_format_stochastic(float x, uint32_t random, int mantissa, int bias)
{
    if (mantissa == 7)
        return cse_round_bfloat16_stochastic(x, random);
    return cse_load_narrow(cse_store_narrow_stochastic(x, random, mantissa, bias), mantissa, bias);
}

#endif
