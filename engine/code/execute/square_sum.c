/* The mantissa's square is shifted to its place within a word, and cut into words of 32 bits, whose
 * carries stay in them. */
#include "engine/code/execute/square_sum.h"

#include <math.h>

#include "engine/base/types/dtype.h"

enum { MANTISSA_BITS = 23, LOWEST = -298 }; /* 2 * (1 - 127 - 23) is the unit of the least square */

void cse_square_sum_add(cse_square_sum *sum, float value)
{
    const uint32_t bits = cse_float_bits(value);
    const int exponent = (int)(bits >> MANTISSA_BITS & 0xff);
    const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    if (exponent == 0xff) {
        sum->not_finite++;
        return;
    }
    if (exponent == 0)
        return;
    const int place = 2 * (exponent - 1), shift = place % 32;
    const uint64_t square = mantissa * mantissa;
    const uint64_t low = (square & 0xffffffffu) << shift, high = (square >> 32) << shift;
    uint64_t *word = &sum->words[place / 32];
    word[0] += low & 0xffffffffu;
    word[1] += (low >> 32) + (high & 0xffffffffu);
    word[2] += high >> 32;
}

void cse_square_sum_join(cse_square_sum *to, const cse_square_sum *from)
{
    for (int i = 0; i < CSE_SQUARE_SUM_WORDS; i++)
        to->words[i] += from->words[i];
    to->not_finite += from->not_finite;
}

double cse_square_sum_root(const cse_square_sum *sum)
{
    double total = 0;
    if (sum->not_finite > 0)
        return NAN;
    for (int i = 0; i < CSE_SQUARE_SUM_WORDS; i++)
        total += ldexp((double)sum->words[i], 32 * i + LOWEST);
    return sqrt(total);
}
