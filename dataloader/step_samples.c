/* The order of position.h, with its arguments checked: they may come from a file. */
#include "dataloader/step_samples.h"

#include "dataloader/position.h"
#include "dataloader/positions/left_out.h"

#define MOST ((int64_t)1 << 48)

static int64_t read_samples(const cse_step_order *o, const cse_left_out *without, int64_t step,
                            int64_t m, int64_t numbers[])
{
    cse_batching batching = { .batch_size = o->batch_size,
                              .micro_batch_size = o->micro_batch_size,
                              .shuffle = o->shuffle,
                              .shuffle_seed = o->shuffle_seed,
                              .drop_last = o->drop_last,
                              .skip_samples = o->skip_samples,
                              .is_stream = o->is_stream,
                              .without = without };
    if (cse_position_batch_samples(&batching, o->samples, step) == 0)
        return 0;
    cse_position_choose_kind(&batching, o->micro_batch_size,
                             cse_position_kind(&batching, o->samples, step));
    if (m >= cse_batching_microbatches(&batching))
        return 0;
    cse_position_samples(&batching, o->samples, cse_position_of(&batching, o->samples, step, m),
                         numbers, NULL);
    return batching.micro_batch_size;
}

int64_t cse_step_samples(const cse_step_order *o, int64_t step, int64_t m, int64_t numbers[])
{
    cse_left_out without;
    if (o->micro_batch_size < 1 || o->batch_size < o->micro_batch_size ||
        o->batch_size % o->micro_batch_size != 0 || o->samples < 1 ||
        (o->drop_last && o->samples < o->batch_size) || o->samples > MOST || o->skip_samples < 0 ||
        o->skip_samples > MOST || step < 0 || step > MOST / o->batch_size || m < 0)
        return 0;
    cse_left_out_of(o->without, o->without_count, &without);
    const int64_t count = read_samples(o, &without, step, m, numbers);
    cse_left_out_clear(&without);
    return count;
}
