/* The losses of a past step by sample: which samples made its loss what it was, and how large the
 * gradient of each microbatch was. */
#ifndef CSE_RUN_TRAVEL_SAMPLE_LOSSES_H
#define CSE_RUN_TRAVEL_SAMPLE_LOSSES_H

#include "run/travel/replay.h"

typedef struct cse_sample_loss {
    int64_t sample;     /* its number in the data */
    int64_t microbatch; /* in which it was computed */
    double loss;        /* the sum over its terms, as the loss of a language model has of tokens */
    int64_t worst;      /* the term that is largest, from 0 */
    double worst_loss;
} cse_sample_loss;

typedef struct cse_sample_losses {
    cse_sample_loss *losses; /* [count], the largest first; NaN is larger than anything */
    int64_t count, terms;    /* terms of each sample */
    double *gradient_norms;  /* by microbatch; NULL: they were too large to be kept */
    int64_t microbatches;
} cse_sample_losses;

/* Does the step again, twice: `replay` is the second time. Release both also after a failure.
 * CSE_NO_INPUT: the loss of the step is no sum over rows of samples. */
cse_status cse_sample_losses_find(const char *model_dir, int64_t step, int num_csx,
                                  cse_replay *replay, cse_sample_losses *losses);
void cse_sample_losses_clear(cse_sample_losses *losses);

#endif
