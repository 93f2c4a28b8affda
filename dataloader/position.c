/* Division with remainder, then the epoch's permutation. */
#include "dataloader/position.h"

#include "dataloader/shuffle.h"

int64_t cse_position_steps_per_epoch(const cse_batching *batching, int64_t sample_count)
{
    return sample_count / batching->batch_size;
}

/* Samples that an epoch adds to the stream. */
static int64_t epoch_length(const cse_batching *batching, int64_t sample_count)
{
    return cse_position_steps_per_epoch(batching, sample_count) * batching->batch_size;
}

cse_position cse_position_of(const cse_batching *batching, int64_t sample_count, int64_t step,
                             int64_t m)
{
    const int64_t steps_per_epoch = cse_position_steps_per_epoch(batching, sample_count);
    const int64_t length = epoch_length(batching, sample_count);
    const int64_t place = step % steps_per_epoch * batching->batch_size +
                          m * batching->micro_batch_size + batching->skip_samples % length;
    return (cse_position){
        .epoch = step / steps_per_epoch + batching->skip_samples / length + place / length,
        .first_index = place % length,
    };
}

/* With skipped samples a microbatch may begin in one epoch and end in the next ones. */
void cse_position_samples(const cse_batching *batching, int64_t sample_count, cse_position position,
                          int64_t samples[], int64_t epochs[])
{
    const int64_t length = epoch_length(batching, sample_count);
    uint64_t key = cse_shuffle_key(batching->shuffle_seed, position.epoch);
    for (int64_t i = 0, index = position.first_index; i < batching->micro_batch_size; i++) {
        samples[i] = batching->shuffle ? cse_shuffle_sample(key, sample_count, index) : index;
        if (batching->is_stream)
            samples[i] = position.epoch * length + index;
        if (epochs != NULL)
            epochs[i] = position.epoch;
        if (++index < length)
            continue;
        index = 0;
        key = cse_shuffle_key(batching->shuffle_seed, ++position.epoch);
    }
}
