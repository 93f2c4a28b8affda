/* Fields that blocks of several packed types have: float16, and scales of 6 bits. */
#include <math.h>

#include "csengine/tensor.h"
#include "engine/base/types/dtype.h"
#include "engine/base/types/packed/packed.h"

float cse_packed_load_half(const unsigned char *at)
{
    return cse_float_from_format(CSE_FLOAT16, (uint16_t)(at[0] | at[1] << 8));
}

void cse_packed_store_half(unsigned char *at, float value)
{
    const uint16_t bits = cse_round_to_bits(CSE_FLOAT16, value);
    at[0] = (unsigned char)bits;
    at[1] = (unsigned char)(bits >> 8);
}

float cse_packed_round(float value)
{
    return roundf(value);
}

void cse_packed_six_bits(const unsigned char packed[12], int part, int *scale, int *minimum)
{
    if (part < 4) {
        *scale = packed[part] & 63;
        *minimum = packed[part + 4] & 63;
        return;
    }
    *scale = (packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4;
    *minimum = packed[part + 4] >> 4 | (packed[part] >> 6) << 4;
}
