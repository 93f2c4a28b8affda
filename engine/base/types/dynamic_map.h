/* Blocks of 256 values in 8 bits each, with the block's largest magnitude, by the dynamic map
 * (Dettmers, Lewis, Shleifer, Zettlemoyer, "8-bit optimizers via block-wise quantization", ICLR
 * 2022).
 *
 * The map divides [0, 1] into seven decades from 1e-7 to 1. Decade i is cut into F * 2^i equal
 * parts, whose middles are its values; 0 and 1 are values, too. With signs F is 1: 127 values are
 * positive, as many are negative, -1 is none. Without, for what is never negative, F is 2: 254
 * values. Codes are the positions in the sorted map: 0 has code 127 with signs and 0 without.
 *
 * There is no table. Let q count parts from F on, so that decade i begins at q = F * 2^i: as a
 * function of x it is a chain of lines, each less steep than the one before, so it is the least of
 * the seven lines, and its inverse the greatest of theirs. So vectors of any width compute it, and
 * a few instructions give the nearest code.
 *
 * A block is 65 words: four codes a word, in the order of memory, then the bits of the largest
 * magnitude. What is not finite makes the block's magnitude so: it is not lost. A block of zero
 * bytes is a block of zeros. This text is also embedded in generated code. */
#ifndef CSE_TYPES_DYNAMIC_MAP_H
#define CSE_TYPES_DYNAMIC_MAP_H

#include "engine/base/types/narrow.h"

/* Generated code has vectors where this is said. */
#ifdef CSE_STEP_ISA
#define CSE_BLOCK_LOOP _Pragma("omp simd")
#else
#define CSE_BLOCK_LOOP
#endif

enum { CSE_BLOCK_ELEMENTS = 256, CSE_BLOCK_WORDS = CSE_BLOCK_ELEMENTS / 4 + 1 };

/* Of decade `power`: 10^(power - 6). */
#define CSE_DECADES(LINE) \
    LINE(0, 1e-6)         \
    LINE(1, 1e-5)         \
    LINE(2, 1e-4)         \
    LINE(3, 1e-3)         \
    LINE(4, 1e-2)         \
    LINE(5, 1e-1)         \
    LINE(6, 1e0)

/* The number of the value nearest to x, where 0 is number 0; x in [0, 1], or not a number, which is
 * as 1. `factor`: F. A value between two decades is nearer to the narrow part below it. */
CSE_INLINE int32_t cse_dynamic_number(float x, int32_t factor)
{
    const float top = 128.0f * (float)factor;
    float parts = 128.0f;
#define CSE_LEAST(power, scale)                                                                  \
    const float line_##power =                                                                   \
        __builtin_fmaf(x, (float)((1 << power) / 0.9 / scale), (float)((1 << power) * 8 / 9.0)); \
    parts = line_##power < parts ? line_##power : parts;
    CSE_DECADES(CSE_LEAST)
#undef CSE_LEAST
    parts *= (float)factor;
    const int32_t part = (int32_t)parts;
    /* The first part of a decade: how much of it is nearer to the last one of the decade below, or
     * to 0. Masks, since a compiler would branch around what it need not compute. */
    const float least_edge = factor == 1 ? 0.194444444f : 0.138888889f;
    const float edge = part == factor ? least_edge : 0.2f;
    const int32_t is_first = -((part & (part - 1)) == 0);
    const int32_t is_below = -(parts - (float)part <= edge);
    const int32_t is_last = -(parts > top - 0.25f);
    int32_t number = part + (is_first & is_below) - (factor - 1);
    number = number > 0 ? number : 0;
    return (number & ~is_last) | ((128 * factor - factor + 1) & is_last);
}

/* The value of that number. */
CSE_INLINE float cse_dynamic_value(int32_t number, int32_t factor)
{
    const float middle = (float)(number + factor - 1) + 0.5f;
    const float whole = middle / (float)factor;
    float value = 0.0f;
#define CSE_GREATEST(power, scale)                                                               \
    const float line_##power = __builtin_fmaf(__builtin_fmaf(whole, 1.0f / (1 << power), -1.0f), \
                                              (float)(0.9 * scale), (float)(0.1 * scale));       \
    value = line_##power > value ? line_##power : value;
    CSE_DECADES(CSE_GREATEST)
#undef CSE_GREATEST
    value = number == 0 ? 0.0f : value;
    return number > 128 * factor - factor ? 1.0f : value;
}

/* The values of a block. */
CSE_INLINE void cse_dequantize_block(const int32_t *words, int32_t factor, float *values)
{
    const uint8_t *codes = (const uint8_t *)words;
    const float most = cse_from_bits(words[CSE_BLOCK_ELEMENTS / 4]);
    CSE_BLOCK_LOOP
    for (int i = 0; i < CSE_BLOCK_ELEMENTS; i++) {
        const int32_t number = codes[i] - (factor == 1 ? 127 : 0);
        const float value = cse_dynamic_value(number < 0 ? -number : number, factor) * most;
        values[i] = number < 0 ? -value : value;
    }
}

/* The block of 256 values. */
CSE_INLINE void cse_quantize_block(const float *values, int32_t factor, int32_t *words)
{
    uint8_t *codes = (uint8_t *)words;
    int32_t bits = 0;
    for (int i = 0; i < CSE_BLOCK_ELEMENTS; i++) {
        const int32_t magnitude = cse_bits(values[i]) & 0x7fffffff;
        bits = magnitude > bits ? magnitude : bits;
    }
    bits = bits < 0x00800000 ? 0 : bits; /* subnormal: its inverse would be infinite */
    const float inverse = bits == 0 ? 0.0f : 1.0f / cse_from_bits(bits);
    CSE_BLOCK_LOOP
    for (int i = 0; i < CSE_BLOCK_ELEMENTS; i++) {
        const int32_t sign = cse_bits(values[i]) >> 31, mask = factor == 1 ? 0x7fffffff : -1;
        const float x = cse_from_bits(cse_bits(values[i]) & mask) * inverse;
        const int32_t number = cse_dynamic_number(x, factor), low = number > 127 ? 127 : number;
        codes[i] = (uint8_t)(factor == 1 ? 127 + ((number & ~sign) | (-low & sign)) : number);
    }
    words[CSE_BLOCK_ELEMENTS / 4] = bits;
}

#endif
