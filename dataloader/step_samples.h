/* Which samples a step takes, by numbers alone: for those who have no data loader. */
#ifndef CSE_DATALOADER_STEP_SAMPLES_H
#define CSE_DATALOADER_STEP_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_step_order {
    int64_t samples, batch_size, micro_batch_size, skip_samples;
    bool shuffle, drop_last, is_stream;
    uint64_t shuffle_seed;
    const int64_t *without; /* [without_count]: samples that are left out */
    int64_t without_count;
} cse_step_order;

/* The samples of microbatch `m` of step `step`, both from 0, at most micro_batch_size of them.
 * Returns how many; 0 where the numbers do not go together, or there is no such microbatch. */
int64_t cse_step_samples(const cse_step_order *order, int64_t step, int64_t m, int64_t numbers[]);

#endif
