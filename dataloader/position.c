/* Division with remainder, then the epoch's permutation; where samples are left out, also a walk
 * along the places of the batch. */
#include "dataloader/position.h"

#include "dataloader/positions/left_out.h"
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

static int64_t largest_divisor(int64_t whole, int64_t most)
{
    int64_t size = most < whole ? most : whole;
    while (whole % size != 0)
        size--;
    return size;
}

void cse_position_choose_kind(cse_batching *batching, int64_t micro_batch_size, cse_batch_kind kind)
{
    batching->drop_last = kind.dropped;
    batching->smaller = kind.samples;
    batching->micro_batch_size =
        kind.samples > 0 ? largest_divisor(kind.samples, micro_batch_size) : micro_batch_size;
}

/* ---- a walk along the places ---- */

typedef struct walk {
    const cse_batching *batching;
    int64_t sample_count, length; /* of an epoch */
    cse_position at;
    uint64_t key;
} walk;

static walk walk_from(const cse_batching *batching, int64_t sample_count, cse_position position)
{
    return (walk){ .batching = batching,
                   .sample_count = sample_count,
                   .length = epoch_length(batching, sample_count),
                   .at = position,
                   .key = cse_shuffle_key(batching->shuffle_seed, position.epoch) };
}

/* With skipped samples a microbatch may begin in one epoch and end in the next ones. */
static void go_on(walk *w)
{
    if (++w->at.first_index < w->length)
        return;
    w->at.first_index = 0;
    w->key = cse_shuffle_key(w->batching->shuffle_seed, ++w->at.epoch);
}

/* Over all epochs; of a permuted order it could be too large a number, and is not asked for. */
static int64_t place_of(const walk *w)
{
    return w->at.epoch * w->length + w->at.first_index;
}

static int64_t sample_at(const walk *w)
{
    const cse_batching *batching = w->batching;
    const int64_t index = w->at.first_index;
    if (batching->sampler != NULL)
        return cse_weighted_draw(batching->sampler, batching->shuffle_seed, place_of(w));
    if (batching->is_stream)
        return place_of(w);
    return batching->shuffle ? cse_shuffle_sample(w->key, w->sample_count, index) : index;
}

static bool leaves_out(const cse_batching *batching)
{
    return batching->without != NULL && batching->without->count > 0;
}

/* Passes over places of samples that are left out. */
static void go_to_sample(walk *w)
{
    while (leaves_out(w->batching) && cse_left_out_has(w->batching->without, sample_at(w)))
        go_on(w);
}

/* ---- places of a step ---- */

/* Where the batch of a step begins, samples that are left out included. */
static cse_position batch_position(const cse_batching *batching, int64_t sample_count, int64_t step)
{
    const cse_epoch_step at = cse_position_epoch_step(batching, sample_count, step);
    const int64_t length = epoch_length(batching, sample_count);
    const int64_t moved = batching->drop_last ? batching->skip_samples % length : 0;
    const int64_t place = at.step * batching->batch_size + moved;
    return (cse_position){ .epoch = at.epoch + place / length, .first_index = place % length };
}

int64_t cse_position_batch_samples(const cse_batching *batching, int64_t sample_count, int64_t step)
{
    const int64_t batch_size = batching->batch_size, whole = sample_count / batch_size;
    const bool is_last = !batching->drop_last && sample_count % batch_size != 0 &&
                         cse_position_epoch_step(batching, sample_count, step).step == whole;
    const int64_t places = is_last ? sample_count % batch_size : batch_size;
    int64_t samples = places;
    if (!leaves_out(batching))
        return samples;
    walk w = walk_from(batching, sample_count, batch_position(batching, sample_count, step));
    for (int64_t i = 0; i < places; i++, go_on(&w))
        samples -= cse_left_out_has(batching->without, sample_at(&w));
    return samples;
}

cse_batch_kind cse_position_kind(const cse_batching *batching, int64_t sample_count, int64_t step)
{
    const int64_t samples = cse_position_batch_samples(batching, sample_count, step);
    return (cse_batch_kind){ .dropped = batching->drop_last,
                             .samples = samples < batching->batch_size ? samples : 0 };
}

cse_position cse_position_of(const cse_batching *batching, int64_t sample_count, int64_t step,
                             int64_t m)
{
    const int64_t before = m * batching->micro_batch_size;
    walk w = walk_from(batching, sample_count, batch_position(batching, sample_count, step));
    if (!leaves_out(batching)) {
        const int64_t place = w.at.first_index + before;
        return (cse_position){ .epoch = w.at.epoch + place / w.length,
                               .first_index = place % w.length };
    }
    go_to_sample(&w);
    for (int64_t i = 0; i < before; i++) {
        go_on(&w);
        go_to_sample(&w);
    }
    return w.at;
}

void cse_position_samples(const cse_batching *batching, int64_t sample_count, cse_position position,
                          int64_t samples[], int64_t epochs[])
{
    walk w = walk_from(batching, sample_count, position);
    for (int64_t i = 0; i < batching->micro_batch_size; i++, go_on(&w)) {
        go_to_sample(&w);
        samples[i] = sample_at(&w);
        if (epochs != NULL)
            epochs[i] = batching->sampler != NULL ? place_of(&w) : w.at.epoch;
    }
}
