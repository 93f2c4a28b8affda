/* Packed types with blocks of 256 elements, in parts of 16 or 32 with scales of their own. d and
 * dmin are float16, s a part's scale, t its minimum, q a whole number.
 *
 *   Q2_K  s:t[16] qs[64] d dmin                84 bytes   (d * s) * q - dmin * t, parts of 16
 *   Q3_K  hmask[32] qs[64] s[12] d            110 bytes   (d * (s - 32)) * (q - 4), parts of 16
 *   Q4_K  d dmin s:t[12] qs[128]              144 bytes   (d * s) * q - dmin * t, parts of 32
 *   Q5_K  d dmin s:t[12] qh[32] qs[128]       176 bytes   as Q4_K
 *   Q6_K  ql[128] qh[64] s[16] d              210 bytes   (d * s) * (q - 32), 16, s of int8
 *
 * qs of 2 bits: bits 2k and 2k+1 of bytes 0 to 31 are elements 32k to 32k + 31 of the first 128, so
 * are bytes 32 to 63 of the second. qs of 4 bits: the halves of bytes 32k to 32k + 31 are elements
 * 64k to 64k + 31 and 64k + 32 to 64k + 63. A further bit of part k of 32 is bit k of hmask or qh;
 * that of Q3_K is 0 where 4 is to be taken away. Q6_K has the low 4 bits of elements 0 to 31 and 64
 * to 95 of each 128 in the halves of bytes 0 to 31, those of 32 to 63 and 96 to 127 in the halves
 * of bytes 32 to 63, and the upper 2 bits of the four parts of 32 in one byte of qh. */
#include "engine/base/types/packed/pack_q4_k.h"
#include "engine/base/types/packed/packed.h"

enum { ELEMENTS = 256, PARTS = 16 };

CSE_VECTOR_INLINE void unpack_q2_k(const unsigned char *block, float *values)
{
    const unsigned char *scales = block, *qs = block + 16;
    const float d = cse_packed_half(block + 80), dmin = cse_packed_half(block + 82);
    _Pragma("GCC unroll 16") for (int part = 0; part < PARTS; part++)
    {
        const int shift = 2 * (part % 8 / 2);
        const unsigned char *at = qs + part / 8 * 32 + part % 2 * 16;
        const float scale = d * (float)(scales[part] & 15);
        const float minimum = dmin * (float)(scales[part] >> 4);
        unsigned char q[16];
        for (int i = 0; i < 16; i++)
            q[i] = at[i] >> shift & 3;
        for (int i = 0; i < 16; i++) {
            const float scaled = scale * (float)q[i];
            values[16 * part + i] = scaled - minimum;
        }
    }
}

/* 6 bits each: the low 4 of scales 0 to 7 and 8 to 15 are the halves of bytes 0 to 7, the upper two
 * of scale i are bits 2 * (i / 4) and the next of byte 8 + i % 4. */
static int scale_of_q3_k(const unsigned char packed[12], int i)
{
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    return (low | (packed[8 + i % 4] >> (2 * (i / 4)) & 3) << 4) - 32;
}

CSE_VECTOR_INLINE void unpack_q3_k(const unsigned char *block, float *values)
{
    const unsigned char *mask = block, *qs = block + 32, *scales = block + 96;
    const float d = cse_packed_half(block + 108);
    _Pragma("GCC unroll 16") for (int part = 0; part < PARTS; part++)
    {
        const int shift = 2 * (part % 8 / 2), bit = part / 2;
        const unsigned char *at = qs + part / 8 * 32 + part % 2 * 16, *high = mask + part % 2 * 16;
        const float scale = d * (float)scale_of_q3_k(scales, part);
        signed char q[16];
        for (int i = 0; i < 16; i++)
            q[i] = (signed char)((at[i] >> shift & 3) - 4 * (~high[i] >> bit & 1));
        for (int i = 0; i < 16; i++)
            values[16 * part + i] = scale * (float)q[i];
    }
}

/* Of Q4_K, and with a fifth bit of Q5_K. */
CSE_VECTOR_INLINE void unpack_of_32(const unsigned char *block, const unsigned char *qh,
                                    const unsigned char *qs, float *values)
{
    const float d = cse_packed_half(block), dmin = cse_packed_half(block + 2);
    _Pragma("GCC unroll 8") for (int part = 0; part < 8; part++)
    {
        int six = 0, low = 0;
        cse_packed_six_bits(block + 4, part, &six, &low);
        const float scale = d * (float)six, minimum = dmin * (float)low;
        const unsigned char *at = qs + part / 2 * 32;
        unsigned char q[32];
        for (int i = 0; i < 32; i++)
            q[i] = at[i] >> (4 * (part % 2)) & 15;
        for (int i = 0; i < 32 && qh != NULL; i++)
            q[i] = (unsigned char)(q[i] | (qh[i] >> part & 1) << 4);
        for (int i = 0; i < 32; i++) {
            const float scaled = scale * (float)q[i];
            values[32 * part + i] = scaled - minimum;
        }
    }
}

CSE_VECTOR_INLINE void unpack_q4_k(const unsigned char *block, float *values)
{
    unpack_of_32(block, NULL, block + 16, values);
}

CSE_VECTOR_INLINE void unpack_q5_k(const unsigned char *block, float *values)
{
    unpack_of_32(block, block + 16, block + 48, values);
}

CSE_VECTOR_INLINE void unpack_q6_k(const unsigned char *block, float *values)
{
    const unsigned char *ql = block, *qh = block + 128, *scales = block + 192;
    const float d = cse_packed_half(block + 208);
    _Pragma("GCC unroll 16") for (int part = 0; part < PARTS; part++)
    {
        const int quarter = part % 8 / 2, shift = quarter < 2 ? 0 : 4, within = part % 2 * 16;
        const unsigned char *low = ql + part / 8 * 64 + quarter % 2 * 32 + within;
        const unsigned char *high = qh + part / 8 * 32 + within;
        const float scale = d * (float)(signed char)scales[part];
        signed char q[16];
        for (int i = 0; i < 16; i++)
            q[i] =
                (signed char)(((low[i] >> shift & 15) | (high[i] >> (2 * quarter) & 3) << 4) - 32);
        for (int i = 0; i < 16; i++)
            values[16 * part + i] = scale * (float)q[i];
    }
}

CSE_PACKED_BLOCKS(unpack_q2_k, ELEMENTS, 84)
CSE_PACKED_BLOCKS(unpack_q3_k, ELEMENTS, 110)
CSE_PACKED_BLOCKS(unpack_q4_k, ELEMENTS, 144)
CSE_PACKED_BLOCKS(unpack_q5_k, ELEMENTS, 176)
CSE_PACKED_BLOCKS(unpack_q6_k, ELEMENTS, 210)

const cse_packed_type cse_packed_q2_k = {
    .name = "Q2_K",
    .number = 10,
    .file_type = 10,
    CSE_PACKED_UNPACKED_BY(unpack_q2_k),
};

const cse_packed_type cse_packed_q3_k = {
    .name = "Q3_K",
    .number = 11,
    .file_type = 11,
    CSE_PACKED_UNPACKED_BY(unpack_q3_k),
};

const cse_packed_type cse_packed_q4_k = {
    .name = "Q4_K",
    .number = 12,
    .file_type = 14,
    CSE_PACKED_UNPACKED_BY(unpack_q4_k),
    .pack = cse_pack_q4_k,
    .instead = &cse_packed_q5_0,
};

const cse_packed_type cse_packed_q5_k = {
    .name = "Q5_K",
    .number = 13,
    .file_type = 16,
    CSE_PACKED_UNPACKED_BY(unpack_q5_k),
};

const cse_packed_type cse_packed_q6_k = {
    .name = "Q6_K",
    .number = 14,
    .file_type = 18,
    CSE_PACKED_UNPACKED_BY(unpack_q6_k),
};
