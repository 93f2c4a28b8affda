/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11).
 *
 * A number is a pure function of a key and a counter, so that it depends on what it is used for
 * (seed, stream, step, sample, element) and not on which process draws it or in which order. */
#ifndef CSE_BASE_RANDOM_H
#define CSE_BASE_RANDOM_H

#include <stdint.h>

/* Four 32-bit words from a 128-bit counter and a 64-bit key. */
static inline void cse_philox(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Uniform in [0, 1) with 24 bits: every value is exact in float32. */
static inline float cse_uniform_from_bits(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

/* The words an op draws for one element, into `out`: `stream` names the op (32 bits of
 * cse_hash_string), `sample` is a position in the global batch (0 for what is drawn once a step),
 * `element` counts within the sample. Generated code uses the same. */
#define cse_draw_words(seed, step, stream, sample, element, out)                               \
    cse_philox((seed),                                                                         \
               (const uint32_t[4]){ (uint32_t)(element), (uint32_t)(sample), (uint32_t)(step), \
                                    (uint32_t)(stream) },                                      \
               (out))

/* Uniform in [0, 1) from the first of those words. */
static inline float cse_draw_uniform(uint64_t seed, int64_t step, uint32_t stream, uint32_t sample,
                                     uint32_t element)
{
    uint32_t words[4];
    cse_draw_words(seed, step, stream, sample, element, words);
    return cse_uniform_from_bits(words[0]);
}

/* A faster generator for rounding whole tensors, which needs one word per element: Philox makes a
 * 64-bit key for a purpose (stream), a step and a range, and cse_hash_bits makes a word from the
 * key and an element's index. It is a multiplicative hash that adds the halves of the key between
 * its rounds; compilers vectorise it. */
static inline uint64_t cse_hash_key(uint64_t seed, int64_t step, uint32_t stream, uint32_t first,
                                    uint32_t size)
{
    uint32_t words[4];
    const uint32_t counter[4] = { first, size, (uint32_t)step, stream };
    cse_philox(seed, counter, words);
    return (uint64_t)words[1] << 32 | words[0];
}

/* The halves of a key as int32, the integer type of graph values, and the key from its halves. */
static inline int32_t cse_key_half(uint64_t key, int half)
{
    return (int32_t)(uint32_t)(half == 0 ? key : key >> 32);
}

static inline uint64_t cse_key_of(int32_t low, int32_t high)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

static inline uint32_t cse_hash_bits(uint64_t key, uint32_t element)
{
    uint32_t x = element + (uint32_t)key;
    x = (x ^ x >> 17) * 0xed5ad4bbu;
    x = (x ^ x >> 11) + (uint32_t)(key >> 32);
    x = (x ^ x >> 16) * 0xac4c1b51u;
    x = (x ^ x >> 15) * 0x31848babu;
    return x ^ x >> 14;
}

/* Standard normal from two words (Box and Muller 1958), computed in double. */
double cse_normal_from_bits(uint32_t first, uint32_t second);

/* A 64-bit hash of a name, which gives each named thing a random stream of its own. */
uint64_t cse_hash_string(const char *text);

/* Pseudo-random permutation of [0, n): the image of `index` under the permutation chosen by `key`
 * (a Feistel network over the next power of four, with cycle walking). */
uint64_t cse_permute(uint64_t key, uint64_t n, uint64_t index);

#endif
