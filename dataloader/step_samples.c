/* The order of position.h, with its arguments checked: they may come from a file. */
#include "dataloader/step_samples.h"

#include "dataloader/position.h"

#define MOST ((int64_t)1 << 48)

int64_t cse_step_samples(const cse_step_order *o, int64_t step, int64_t m, int64_t numbers[])
{
    cse_batching batching = { .batch_size = o->batch_size,
                              .micro_batch_size = o->micro_batch_size,
                              .shuffle = o->shuffle,
                              .shuffle_seed = o->shuffle_seed,
                              .drop_last = o->drop_last,
                              .skip_samples = o->skip_samples,
                              .is_stream = o->is_stream };
    if (o->micro_batch_size < 1 || o->batch_size < o->micro_batch_size ||
        o->batch_size % o->micro_batch_size != 0 || o->samples < 1 ||
        (o->drop_last && o->samples < o->batch_size) || o->samples > MOST || o->skip_samples < 0 ||
        o->skip_samples > MOST || step < 0 || step > MOST / o->batch_size || m < 0)
        return 0;
    const cse_last_batch last = { .dropped = o->drop_last,
                                  .read = cse_position_is_last(&batching, o->samples, step) };
    cse_position_choose_last(&batching, o->samples, o->micro_batch_size, last);
    if (m >= cse_batching_microbatches(&batching))
        return 0;
    cse_position_samples(&batching, o->samples, cse_position_of(&batching, o->samples, step, m),
                         numbers, NULL);
    return batching.micro_batch_size;
}
