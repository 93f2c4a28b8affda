/* Two calls of counter-based random functions: one makes an epoch's key, one permutes.
 *
 * The network that permutes has few words of a few bits where there are few samples, and then does
 * not reach all orders equally often. So a handful is dealt: each place takes one of those that are
 * left (Durstenfeld 1964), with a word of its own. */
#include "dataloader/positions/shuffle.h"

#include "engine/base/random.h"

/* Separates these random numbers from others with the same seed. */
enum { SHUFFLE_STREAM = 0x73687566 };

uint64_t cse_shuffle_key(uint64_t seed, int64_t epoch)
{
    const uint32_t counter[4] = { (uint32_t)epoch, (uint32_t)((uint64_t)epoch >> 32),
                                  SHUFFLE_STREAM, 0 };
    uint32_t words[4];
    cse_philox(seed, counter, words);
    return (uint64_t)words[1] << 32 | words[0];
}

static int64_t dealt(uint64_t key, int64_t sample_count, int64_t index)
{
    int64_t left[CSE_SHUFFLE_DEALT];
    for (int64_t i = 0; i < sample_count; i++)
        left[i] = i;
    for (int64_t place = 0;; place++) {
        uint32_t words[4];
        const int64_t count = sample_count - place;
        cse_philox(key, (const uint32_t[4]){ (uint32_t)place, 0, SHUFFLE_STREAM, 1 }, words);
        const int64_t chosen = (int64_t)((uint64_t)words[0] * (uint64_t)count >> 32);
        if (place == index)
            return left[chosen];
        left[chosen] = left[count - 1];
    }
}

int64_t cse_shuffle_sample(uint64_t key, int64_t sample_count, int64_t index)
{
    if (sample_count < CSE_SHUFFLE_DEALT)
        return dealt(key, sample_count, index);
    return (int64_t)cse_permute(key, (uint64_t)sample_count, (uint64_t)index);
}
