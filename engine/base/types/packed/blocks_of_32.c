/* Packed types with blocks of 32 elements. d and m are float16, q a whole number; element j of the
 * first 16 lies in the low half of byte j of qs, element j + 16 in the high half of the same byte;
 * a fifth bit of element j is bit j of the 32 in qh.
 *
 *   Q4_0  d qs[16]        18 bytes   d * (q - 8)
 *   Q4_1  d m qs[16]      20 bytes   d * q + m
 *   Q5_0  d qh[4] qs[16]  22 bytes   d * (q - 16)
 *   Q5_1  d m qh[4] qs[16] 24 bytes  d * q + m
 *   Q8_0  d qs[32]        34 bytes   d * q, q of int8
 *
 * Packing: Q4_0 and Q5_0 give the value that is farthest from 0 the most negative q; Q4_1 and Q5_1
 * spread q over [least, largest]; Q8_0 gives the farthest from 0 the q 127 or -127. */
#include <math.h>
#include <string.h>

#include "engine/base/types/packed/packed.h"

enum { ELEMENTS = 32, HALF = 16 };

/* 16 whole numbers of 4 bits, in the low or the high halves of bytes (`shift`), and a fifth bit of
 * each where there is one. */
CSE_VECTOR_INLINE void take_half(const unsigned char *qs, const unsigned char *qh, int shift,
                                 signed char q[HALF])
{
    for (int j = 0; j < HALF; j++)
        q[j] = (signed char)(qs[j] >> shift & 15);
    if (qh == NULL)
        return;
    const uint32_t fifth = (uint32_t)qh[shift / 2] | (uint32_t)qh[shift / 2 + 1] << 8;
    for (int j = 0; j < HALF; j++)
        q[j] = (signed char)(q[j] | (fifth >> j & 1) << 4);
}

static void pack_whole(const int q[ELEMENTS], unsigned char *qs, unsigned char *qh)
{
    uint32_t fifth = 0;
    for (int j = 0; j < HALF; j++)
        qs[j] = (unsigned char)((q[j] & 15) | (q[j + HALF] & 15) << 4);
    for (int j = 0; j < ELEMENTS; j++)
        fifth |= (uint32_t)(q[j] >> 4 & 1) << j;
    for (int i = 0; qh != NULL && i < 4; i++)
        qh[i] = (unsigned char)(fifth >> (8 * i));
}

/* Halves of their own, in bytes, so that the loops become vectors that need not wait for stores. */
CSE_VECTOR_INLINE void unpack_centred(const unsigned char *block, bool has_fifth, float *values)
{
    const float d = cse_packed_half(block);
    const signed char centre = has_fifth ? 16 : 8;
    _Pragma("GCC unroll 2") for (int half = 0; half < 2; half++)
    {
        signed char q[HALF];
        take_half(block + (has_fifth ? 6 : 2), has_fifth ? block + 2 : NULL, 4 * half, q);
        for (int j = 0; j < HALF; j++)
            values[HALF * half + j] = d * (float)(signed char)(q[j] - centre);
    }
}

CSE_VECTOR_INLINE void unpack_shifted(const unsigned char *block, bool has_fifth, float *values)
{
    const float d = cse_packed_half(block), m = cse_packed_half(block + 2);
    _Pragma("GCC unroll 2") for (int half = 0; half < 2; half++)
    {
        signed char q[HALF];
        take_half(block + (has_fifth ? 8 : 4), has_fifth ? block + 4 : NULL, 4 * half, q);
        for (int j = 0; j < HALF; j++) {
            const float scaled = d * (float)q[j];
            values[HALF * half + j] = scaled + m;
        }
    }
}

static int within(double value, int most)
{
    return value >= most ? most : value > 0 ? (int)value : 0; /* 0 for what is no number */
}

/* The product and the sum are exact to double, so that no build rounds them otherwise. */
static void pack_centred(const float *values, bool has_fifth, unsigned char *block)
{
    int q[ELEMENTS];
    const int centre = has_fifth ? 16 : 8;
    float farthest = 0;
    for (int j = 0; j < ELEMENTS; j++)
        if (fabsf(values[j]) > fabsf(farthest))
            farthest = values[j];
    const float d = farthest / (float)-centre, inverse = d != 0 ? 1 / d : 0;
    for (int j = 0; j < ELEMENTS; j++)
        q[j] = within((double)values[j] * (double)inverse + centre + 0.5, 2 * centre - 1);
    cse_packed_store_half(block, d);
    pack_whole(q, block + (has_fifth ? 6 : 2), has_fifth ? block + 2 : NULL);
}

CSE_VECTOR_INLINE void unpack_q4_0(const unsigned char *block, float *values)
{
    unpack_centred(block, false, values);
}

CSE_VECTOR_INLINE void unpack_q4_1(const unsigned char *block, float *values)
{
    unpack_shifted(block, false, values);
}

CSE_VECTOR_INLINE void unpack_q5_0(const unsigned char *block, float *values)
{
    unpack_centred(block, true, values);
}

CSE_VECTOR_INLINE void unpack_q5_1(const unsigned char *block, float *values)
{
    unpack_shifted(block, true, values);
}

CSE_VECTOR_INLINE void unpack_q8_0(const unsigned char *block, float *values)
{
    signed char q[ELEMENTS];
    const float d = cse_packed_half(block);
    memcpy(q, block + 2, sizeof q);
    for (int j = 0; j < ELEMENTS; j++)
        values[j] = (float)q[j] * d;
}

CSE_PACKED_BLOCKS(unpack_q4_0, ELEMENTS, 18)
CSE_PACKED_BLOCKS(unpack_q4_1, ELEMENTS, 20)
CSE_PACKED_BLOCKS(unpack_q5_0, ELEMENTS, 22)
CSE_PACKED_BLOCKS(unpack_q5_1, ELEMENTS, 24)
CSE_PACKED_BLOCKS(unpack_q8_0, ELEMENTS, 34)

static void pack_q4_0(const float *values, unsigned char *block)
{
    pack_centred(values, false, block);
}

static void pack_q5_0(const float *values, unsigned char *block)
{
    pack_centred(values, true, block);
}

static void pack_q8_0(const float *values, unsigned char *block)
{
    float farthest = 0;
    for (int j = 0; j < ELEMENTS; j++)
        farthest = fmaxf(farthest, fabsf(values[j]));
    const float d = farthest / 127, inverse = d != 0 ? 1 / d : 0;
    cse_packed_store_half(block, d);
    for (int j = 0; j < ELEMENTS; j++) {
        const float whole = cse_packed_round(values[j] * inverse);
        block[2 + j] = (unsigned char)(signed char)(whole >= -127 && whole <= 127 ? whole : 0);
    }
}

const cse_packed_type cse_packed_q4_0 = {
    .name = "Q4_0",
    .number = 2,
    .file_type = 2,
    CSE_PACKED_UNPACKED_BY(unpack_q4_0),
    .pack = pack_q4_0,
};

const cse_packed_type cse_packed_q4_1 = {
    .name = "Q4_1",
    .number = 3,
    .file_type = 3,
    CSE_PACKED_UNPACKED_BY(unpack_q4_1),
};

const cse_packed_type cse_packed_q5_0 = {
    .name = "Q5_0",
    .number = 6,
    .file_type = 8,
    CSE_PACKED_UNPACKED_BY(unpack_q5_0),
    .pack = pack_q5_0,
};

const cse_packed_type cse_packed_q5_1 = {
    .name = "Q5_1",
    .number = 7,
    .file_type = 9,
    CSE_PACKED_UNPACKED_BY(unpack_q5_1),
};

const cse_packed_type cse_packed_q8_0 = {
    .name = "Q8_0",
    .number = 8,
    .file_type = 7,
    CSE_PACKED_UNPACKED_BY(unpack_q8_0),
    .pack = pack_q8_0,
};
