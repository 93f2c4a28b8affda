/* Division with remainder, then the epoch's permutation. */
#include "dataloader/position.h"

#include "dataloader/shuffle.h"

int64_t cse_position_steps_per_epoch(const cse_batching *batching, int64_t sample_count)
{
    return sample_count / batching->batch_size;
}

cse_position cse_position_of(const cse_batching *batching, int64_t sample_count, int64_t step,
                             int64_t m)
{
    int64_t steps_per_epoch = cse_position_steps_per_epoch(batching, sample_count);
    return (cse_position){
        .epoch = step / steps_per_epoch,
        .first_index =
            step % steps_per_epoch * batching->batch_size + m * batching->micro_batch_size,
    };
}

void cse_position_samples(const cse_batching *batching, int64_t sample_count, cse_position position,
                          int64_t samples[])
{
    if (!batching->shuffle) {
        for (int64_t i = 0; i < batching->micro_batch_size; i++)
            samples[i] = position.first_index + i;
        return;
    }
    uint64_t key = cse_shuffle_key(batching->shuffle_seed, position.epoch);
    for (int64_t i = 0; i < batching->micro_batch_size; i++)
        samples[i] = cse_shuffle_sample(key, sample_count, position.first_index + i);
}
