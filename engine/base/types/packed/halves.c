/* Packed types of our own, for matrices that lie in a file as numbers of 16 bits: each element is
 * one of them, little endian, and stands for the same value in float32.
 *
 *   BF16_32  numbers[32]   64 bytes
 *   F16_32   numbers[32]   64 bytes */
#include "engine/base/types/packed/packed.h"

enum { ELEMENTS = 32 };

CSE_VECTOR_INLINE void unpack_bf16(const unsigned char *block, float *values)
{
    for (int i = 0; i < ELEMENTS; i++)
        values[i] =
            cse_float_from_bits((uint32_t)block[2 * i] << 16 | (uint32_t)block[2 * i + 1] << 24);
}

CSE_VECTOR_INLINE void unpack_f16(const unsigned char *block, float *values)
{
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = cse_packed_half(block + (size_t)2 * i);
}

CSE_PACKED_BLOCKS(unpack_bf16, 32, 64)
CSE_PACKED_BLOCKS(unpack_f16, 32, 64)

const cse_packed_type cse_packed_bf16_32 = {
    .name = "BF16_32",
    .number = CSE_PACKED_OWN + 8,
    CSE_PACKED_UNPACKED_BY(unpack_bf16),
};

const cse_packed_type cse_packed_f16_32 = {
    .name = "F16_32",
    .number = CSE_PACKED_OWN + 9,
    CSE_PACKED_UNPACKED_BY(unpack_f16),
};
