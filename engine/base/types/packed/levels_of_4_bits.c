/* Packed types of our own, for what bitsandbytes packs with 4 bits: blocks of 64 elements, a
 * float32 magnitude and then two elements in a byte, the first in the high half; each stands for a
 * level times the magnitude. A block there may be larger: its magnitude is in each of ours.
 *
 *   NF4  absmax qs[32]   36 bytes   level(q) * absmax, levels of a normal distribution's quantiles
 *   FP4  absmax qs[32]   36 bytes   the same with levels that are numbers of 4 bits
 *
 * Levels: T. Dettmers et al., "QLoRA", 2023, appendix E, and the tables of bitsandbytes. */
#include "engine/base/types/packed/packed.h"

enum { ELEMENTS = 64, BYTES = 36 };

const float cse_packed_levels_nf4[16] = {
    -1.0F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.0F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.0F,
};

const float cse_packed_levels_fp4[16] = {
    0.0F, 0.0625F / 12,  8.0F / 12,  1.0F,  4.0F / 12,  0.5F,  2.0F / 12,  0.25F,
    0.0F, -0.0625F / 12, -8.0F / 12, -1.0F, -4.0F / 12, -0.5F, -2.0F / 12, -0.25F,
};

CSE_VECTOR_INLINE void unpack(const float levels[16], const unsigned char *block, float *values)
{
    float absmax;
    memcpy(&absmax, block, sizeof absmax);
    for (int i = 0; i < ELEMENTS / 2; i++) {
        values[2 * i] = levels[block[4 + i] >> 4] * absmax;
        values[2 * i + 1] = levels[block[4 + i] & 15] * absmax;
    }
}

CSE_VECTOR_INLINE void unpack_nf4(const unsigned char *block, float *values)
{
    unpack(cse_packed_levels_nf4, block, values);
}

CSE_VECTOR_INLINE void unpack_fp4(const unsigned char *block, float *values)
{
    unpack(cse_packed_levels_fp4, block, values);
}

CSE_PACKED_BLOCKS(unpack_nf4, ELEMENTS, BYTES)
CSE_PACKED_BLOCKS(unpack_fp4, ELEMENTS, BYTES)

const cse_packed_type cse_packed_nf4 = {
    .name = "NF4",
    .number = CSE_PACKED_OWN + 1,
    CSE_PACKED_UNPACKED_BY(unpack_nf4),
};

const cse_packed_type cse_packed_fp4 = {
    .name = "FP4",
    .number = CSE_PACKED_OWN + 2,
    CSE_PACKED_UNPACKED_BY(unpack_fp4),
};
