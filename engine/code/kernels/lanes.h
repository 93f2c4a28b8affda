/* The lanes that our kernels are written for, once for two widths: sixteen elements of any float
 * type as one AVX-512 vector of float32, or eight as one AVX2 vector.
 *
 * A file that includes this one is of one width: sixteen, or what it defines CSE_LANE_COUNT to be.
 * lanes_avx512.c and lanes_avx2.c include the same code with either. A function that depends on the
 * width is called by a name with the suffix that CSE_LANED adds. lanes_16.h and lanes_8.h hold what
 * differs; this file holds the conversions.
 *
 * Loading is exact. Storing rounds once, to nearest even, with the same bits as cse_round_to_bits.
 * Callers pass the type as a constant, so that inlining removes every test of it from their loops.
 * Neither depends on whether the process flushes subnormals: fields are moved as integers, and
 * values computed as floats stay normal. */
#ifndef CSE_KERNELS_LANES_H
#define CSE_KERNELS_LANES_H

#include "engine/base/instruction_set.h"
#include "engine/base/types/dtype.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#ifndef CSE_LANE_COUNT
#define CSE_LANE_COUNT 16
#endif

#define CSE_LANES static inline __attribute__((always_inline)) CSE_LANE_TARGET
#define CSE_UNROLL _Pragma("GCC unroll 16")

/* A vector of as many unsigned numbers: C's operators work on it lane by lane. */
typedef uint32_t cse_words __attribute__((vector_size(4 * CSE_LANE_COUNT), may_alias));

#if CSE_LANE_COUNT == 16
#include "engine/code/kernels/lanes_16.h"
#else
#include "engine/code/kernels/lanes_8.h"
#endif

CSE_LANES cse_words cse_words_of(uint32_t number)
{
    return number - (cse_words){ 0 };
}

CSE_LANES cse_vector cse_lanes_from_bfloat16(cse_halves bits)
{
    return (cse_vector)(cse_words_from_halves(bits) << 16);
}

/* Exponent and mantissa are moved to their places and the bias corrected; subnormals are whole
 * multiples of the smallest one, 2^-39. */
CSE_LANES cse_vector cse_lanes_from_cbfloat16(cse_halves bits)
{
    const cse_words wide = cse_words_from_halves(bits), magnitude = wide & 0x7fff;
    const cse_words moved = magnitude << 14;
    const cse_choice small = cse_words_less(magnitude, cse_words_of(1 << 9));
    const cse_choice special = cse_words_less(cse_words_of((63 << 9) - 1), magnitude);
    cse_words value =
        cse_words_where(special, moved + ((255 - 63) << 23), moved + ((127 - 31) << 23));
    const cse_vector multiple = cse_lanes_from_words(magnitude) * cse_lanes_of_all(0x1p-39f);
    value = cse_words_where(small, (cse_words)multiple, value);
    return (cse_vector)(value | wide >> 15 << 31);
}

/* Elements at `at` and after of `from`; lanes outside the mask are 0 and not read. */
CSE_LANES cse_vector cse_lanes_load(cse_dtype dtype, const void *from, int64_t at,
                                    cse_lane_mask lanes)
{
    if (dtype == CSE_FLOAT32)
        return cse_lanes_read((const float *)from + at, lanes);
    const cse_halves bits = cse_halves_read((const uint16_t *)from + at, lanes);
    if (dtype == CSE_BFLOAT16)
        return cse_lanes_from_bfloat16(bits);
    return dtype == CSE_FLOAT16 ? cse_lanes_from_float16(bits) : cse_lanes_from_cbfloat16(bits);
}

/* A NaN becomes the quiet NaN `quiet` with its own sign. */
CSE_LANES cse_words cse_words_with_nan(cse_words rounded, cse_vector x, uint32_t quiet)
{
    return cse_words_where(cse_lanes_are_nan(x), (cse_words)x >> 31 << 15 | quiet, rounded);
}

CSE_LANES cse_halves cse_lanes_to_bfloat16(cse_vector x)
{
    const cse_words bits = (cse_words)x;
    const cse_words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return cse_halves_from_words(cse_words_with_nan(rounded, x, 0x7fc0));
}

CSE_LANES cse_halves cse_lanes_to_float16(cse_vector x)
{
    const cse_words rounded = cse_words_from_halves(cse_lanes_round_to_float16(x));
    return cse_halves_from_words(cse_words_with_nan(rounded, x, 0x7e00));
}

/* Normal results: the dropped bits are rounded as integers, and a carry increments the exponent.
 * Subnormal results: adding 2^-16 rounds to a multiple of 2^-39, the smallest subnormal number. */
CSE_LANES cse_halves cse_lanes_to_cbfloat16(cse_vector x)
{
    const cse_words bits = (cse_words)x, magnitude = bits & 0x7fffffff;
    const cse_words infinity = cse_words_of(63 << 9);
    const cse_words moved = magnitude - ((127 - 31) << 23);
    const cse_choice small = cse_words_less(magnitude, cse_words_of((128 - 31) << 23));
    const cse_choice large = cse_words_less(cse_words_of(0x7f800000 - 1), magnitude);
    const cse_vector ruler = cse_lanes_of_all(0x1p-16f), sum = (cse_vector)magnitude + ruler;
    cse_words rounded = (moved + 0x1fff + (moved >> 14 & 1)) >> 14;
    rounded = cse_words_where(small, (cse_words)sum - (cse_words)ruler, rounded);
    rounded = cse_words_where(cse_words_less(rounded, infinity), rounded, infinity);
    rounded = cse_words_where(large, infinity, rounded) | bits >> 31 << 15;
    return cse_halves_from_words(cse_words_with_nan(rounded, x, 0x7f00));
}

/* Rounds `x` to elements at `at` and after of `to`; lanes outside the mask are not written. */
CSE_LANES void cse_lanes_store(cse_dtype dtype, void *to, int64_t at, cse_lane_mask lanes,
                               cse_vector x)
{
    if (dtype == CSE_FLOAT32)
        cse_lanes_write((float *)to + at, lanes, x);
    else
        cse_halves_write((uint16_t *)to + at, lanes,
                         dtype == CSE_BFLOAT16  ? cse_lanes_to_bfloat16(x)
                         : dtype == CSE_FLOAT16 ? cse_lanes_to_float16(x)
                                                : cse_lanes_to_cbfloat16(x));
}

#endif
#endif
