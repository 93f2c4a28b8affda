/* What the inline generator does not cover: normal deviates, name hashes, permutations. */
#include "engine/base/random.h"

#include <math.h>

double cse_normal_from_bits(uint32_t first, uint32_t second)
{
    const double two_pi = 6.283185307179586476925;
    double u = ((double)first + 1.0) * 0x1p-32; /* (0, 1]: the logarithm stays finite */
    double angle = two_pi * (double)second * 0x1p-32;
    return sqrt(-2.0 * log(u)) * cos(angle);
}

uint64_t cse_hash_string(const char *text)
{
    /* FNV-1a, then a finalizer, so that names that differ only in their last bytes hash far
     * apart. */
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 33;
    return hash;
}

/* SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA'14): a few cycles, every output bit depends on
 * every input bit. */
static uint64_t mix(uint64_t value)
{
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

uint64_t cse_permute(uint64_t key, uint64_t n, uint64_t index)
{
    int half_bits = 1;
    while (half_bits < 31 && ((uint64_t)1 << (2 * half_bits)) < n)
        half_bits++;
    uint64_t mask = ((uint64_t)1 << half_bits) - 1, value = index;
    do {
        uint64_t left = value >> half_bits, right = value & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint64_t mixed = left ^ (mix(mix(key + round) ^ right) & mask);
            left = right;
            right = mixed;
        }
        value = left << half_bits | right;
    } while (value >= n);
    return value;
}
