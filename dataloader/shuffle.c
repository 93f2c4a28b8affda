/* Two calls of counter-based random functions: one makes an epoch's key, one permutes. */
#include "dataloader/shuffle.h"

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

int64_t cse_shuffle_sample(uint64_t key, int64_t sample_count, int64_t index)
{
    return (int64_t)cse_permute(key, (uint64_t)sample_count, (uint64_t)index);
}
