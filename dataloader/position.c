/* Division with remainder, then the epoch's permutation. */
#include "dataloader/position.h"

#include "dataloader/positions/shuffle.h"
#include "dataloader/positions/weighted.h"

int64_t cse_position_steps_per_epoch(const cse_batching *batching, int64_t sample_count)
{
    const int64_t whole = sample_count / batching->batch_size;
    return whole + (!batching->drop_last && sample_count % batching->batch_size != 0);
}

/* Samples that an epoch adds to the stream. */
static int64_t epoch_length(const cse_batching *batching, int64_t sample_count)
{
    return batching->drop_last ? sample_count / batching->batch_size * batching->batch_size
                               : sample_count;
}

/* Skipped samples are whole steps where an epoch's last batch is kept. */
cse_epoch_step cse_position_epoch_step(const cse_batching *batching, int64_t sample_count,
                                       int64_t step)
{
    const int64_t steps_per_epoch = cse_position_steps_per_epoch(batching, sample_count);
    const int64_t length = epoch_length(batching, sample_count);
    const int64_t skipped = batching->skip_samples % length / batching->batch_size;
    const int64_t from = batching->drop_last ? step : step + skipped;
    return (cse_epoch_step){
        .epoch = from / steps_per_epoch + batching->skip_samples / length,
        .step = from % steps_per_epoch,
    };
}

bool cse_position_is_last(const cse_batching *batching, int64_t sample_count, int64_t step)
{
    return !batching->drop_last && sample_count % batching->batch_size != 0 &&
           cse_position_epoch_step(batching, sample_count, step).step ==
               sample_count / batching->batch_size;
}

static int64_t largest_divisor(int64_t whole, int64_t most)
{
    int64_t size = most < whole ? most : whole;
    while (whole % size != 0)
        size--;
    return size;
}

void cse_position_choose_last(cse_batching *batching, int64_t sample_count,
                              int64_t micro_batch_size, cse_last_batch last)
{
    batching->drop_last = last.dropped;
    batching->last_samples = last.read ? sample_count % batching->batch_size : 0;
    batching->micro_batch_size = batching->last_samples > 0
                                     ? largest_divisor(batching->last_samples, micro_batch_size)
                                     : micro_batch_size;
}

cse_position cse_position_of(const cse_batching *batching, int64_t sample_count, int64_t step,
                             int64_t m)
{
    const cse_epoch_step at = cse_position_epoch_step(batching, sample_count, step);
    const int64_t length = epoch_length(batching, sample_count);
    const int64_t moved = batching->drop_last ? batching->skip_samples % length : 0;
    const int64_t place = at.step * batching->batch_size + m * batching->micro_batch_size + moved;
    return (cse_position){ .epoch = at.epoch + place / length, .first_index = place % length };
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
        if (batching->sampler != NULL)
            samples[i] = cse_weighted_draw(batching->sampler, batching->shuffle_seed,
                                           position.epoch * length + index);
        if (epochs != NULL)
            epochs[i] =
                batching->sampler != NULL ? position.epoch * length + index : position.epoch;
        if (++index < length)
            continue;
        index = 0;
        key = cse_shuffle_key(batching->shuffle_seed, ++position.epoch);
    }
}
