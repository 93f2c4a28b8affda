/* What a step computed: values and gradients that a replay has kept whole (numerics.values). */
#ifndef CSE_RUN_TRAVEL_COMPUTED_VALUES_H
#define CSE_RUN_TRAVEL_COMPUTED_VALUES_H

#include "run/travel/step_samples.h"
#include "run/travel/tensor_view.h"

typedef struct cse_computed_values cse_computed_values;

/* Reads those of a step of the run in `model_dir`, with all microbatches. Close them also after a
 * failure. */
cse_status cse_computed_values_open(const char *model_dir, int64_t step,
                                    cse_computed_values **values);
void cse_computed_values_close(cse_computed_values **values);

int cse_computed_values_microbatches(const cse_computed_values *values);
const cse_step_samples *cse_computed_values_samples(const cse_computed_values *values);

/* What is known of a tensor that cse_computed_values_add has added; false: it is none of these. */
typedef struct cse_computed_facts {
    const char *role; /* "value", "cast", "gradient" */
    const char *op;   /* that the model's code called */
    cse_dtype format; /* in which the step has it */
    bool backward;
    /* What its first dimension counts: "samples", "microbatches", "": neither. */
    const char *rows;
    /* No kernel of the run stores it: it was computed beside the run, from the same inputs. */
    bool beside;
    /* How far the output that follows from it is from the run's, at most of the microbatches, in
     * parts of the largest element; NaN where either is no number. */
    double within;
} cse_computed_facts;
bool cse_computed_values_facts(const cse_computed_values *values,
                               const cse_checkpoint_tensor *tensor, cse_computed_facts *facts);

typedef struct cse_computed_part {
    int64_t microbatch; /* this one alone; -1: the batch */
    int64_t sample;     /* the rows of this sample alone, by its number in the data; -1: of all */
} cse_computed_part;

/* Adds them to `view`, as float32, rounded as the step has them. Values that have rows for samples
 * [micro_batch_size * n, ...] become those of the batch, microbatch after microbatch; others
 * [microbatches, ...]. Gradients are sums over the batch, and of one microbatch where one is asked
 * for. CSE_NO_INPUT: the step has no such microbatch, or not this sample. */
cse_status cse_computed_values_add(const cse_computed_values *values, cse_computed_part part,
                                   cse_tensor_view *view);

#endif
