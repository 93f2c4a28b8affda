/* What a step computed: values and gradients that a replay has kept whole (numerics.values). */
#ifndef CSE_RUN_TRAVEL_COMPUTED_VALUES_H
#define CSE_RUN_TRAVEL_COMPUTED_VALUES_H

#include "run/travel/tensor_view.h"

typedef struct cse_computed_question {
    const char *folder; /* of the replay */
    int64_t step;
    int64_t microbatch; /* of this one alone; -1: of the batch */
    int64_t sample;     /* the rows of this sample alone, by its number in the data; -1: of all */
} cse_computed_question;

/* Adds them to `view`, as float32, rounded as the step has them. Values that have rows for samples
 * [micro_batch_size * n, ...] become those of the batch, microbatch after microbatch; others
 * [microbatches, ...]. Gradients are sums over the batch, and of one microbatch where one is asked
 * for. CSE_NO_INPUT: the step has no such microbatch, or not this sample. */
cse_status cse_computed_values_load(const cse_computed_question *question, cse_tensor_view *view);

/* The samples of a step that kept values: their numbers in the data, in the order of the batch. */
typedef struct cse_step_samples {
    int64_t *numbers; /* [count]; the caller frees it */
    int64_t count, micro_batch_size;
} cse_step_samples;
cse_status cse_step_samples_read(const char *folder, int64_t step, cse_step_samples *samples);

#endif
