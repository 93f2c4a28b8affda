/* Packed types of our own, for whole numbers with a scale in float32: those of bitsandbytes with 8
 * bits, and of GPTQ and AWQ with a zero point. A group there is a multiple of a block here, so its
 * scale and zero point are in each of its blocks. Elements of less than 8 bits lie in the parts of
 * bytes: those of 4 bits, the first half of them in the low halves; of 2 bits, by quarters.
 *
 *   INT8_ROW   scale qs[32]        36 bytes   (q * scale) / 127, q of int8
 *   UINT2_32   scale zero qs[8]    16 bytes   scale * (q - zero), zero of int32
 *   UINT4_32   scale zero qs[16]   24 bytes
 *   UINT4_128  scale zero qs[64]   72 bytes
 *   UINT8_32   scale zero qs[32]   40 bytes */
#include "engine/base/types/packed/packed.h"

enum { HEAD = 8 };

CSE_VECTOR_INLINE void unpack_int8_row(const unsigned char *block, float *values)
{
    float scale;
    signed char q[32];
    memcpy(&scale, block, sizeof scale);
    memcpy(q, block + sizeof scale, sizeof q);
    for (int i = 0; i < 32; i++) {
        const float scaled = (float)q[i] * scale;
        values[i] = scaled / 127;
    }
}

/* `each`: elements in a byte. */
CSE_VECTOR_INLINE void unpack_shifted(const unsigned char *block, int elements, int each,
                                      float *values)
{
    float scale;
    int32_t zero;
    const int bits = 8 / each, some = elements / each;
    const unsigned char *qs = block + HEAD;
    memcpy(&scale, block, sizeof scale);
    memcpy(&zero, block + sizeof scale, sizeof zero);
    for (int part = 0; part < each; part++)
        for (int i = 0; i < some; i++) {
            const int q = qs[i] >> (part * bits) & ((1 << bits) - 1);
            values[part * some + i] = scale * (float)(q - zero);
        }
}

CSE_VECTOR_INLINE void unpack_uint2_32(const unsigned char *block, float *values)
{
    unpack_shifted(block, 32, 4, values);
}

CSE_VECTOR_INLINE void unpack_uint4_32(const unsigned char *block, float *values)
{
    unpack_shifted(block, 32, 2, values);
}

CSE_VECTOR_INLINE void unpack_uint4_128(const unsigned char *block, float *values)
{
    unpack_shifted(block, 128, 2, values);
}

CSE_VECTOR_INLINE void unpack_uint8_32(const unsigned char *block, float *values)
{
    unpack_shifted(block, 32, 1, values);
}

CSE_PACKED_BLOCKS(unpack_int8_row, 32, 36)
CSE_PACKED_BLOCKS(unpack_uint2_32, 32, 16)
CSE_PACKED_BLOCKS(unpack_uint4_32, 32, 24)
CSE_PACKED_BLOCKS(unpack_uint4_128, 128, 72)
CSE_PACKED_BLOCKS(unpack_uint8_32, 32, 40)

const cse_packed_type cse_packed_int8_row = {
    .name = "INT8_ROW",
    .number = CSE_PACKED_OWN + 3,
    CSE_PACKED_UNPACKED_BY(unpack_int8_row),
};

const cse_packed_type cse_packed_uint2_32 = {
    .name = "UINT2_32",
    .number = CSE_PACKED_OWN + 4,
    CSE_PACKED_UNPACKED_BY(unpack_uint2_32),
};

const cse_packed_type cse_packed_uint4_32 = {
    .name = "UINT4_32",
    .number = CSE_PACKED_OWN + 5,
    CSE_PACKED_UNPACKED_BY(unpack_uint4_32),
};

const cse_packed_type cse_packed_uint4_128 = {
    .name = "UINT4_128",
    .number = CSE_PACKED_OWN + 6,
    CSE_PACKED_UNPACKED_BY(unpack_uint4_128),
};

const cse_packed_type cse_packed_uint8_32 = {
    .name = "UINT8_32",
    .number = CSE_PACKED_OWN + 7,
    CSE_PACKED_UNPACKED_BY(unpack_uint8_32),
};
