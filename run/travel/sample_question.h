/* What is asked of the samples of a past step, and what was found (sample_losses.h). */
#ifndef CSE_RUN_TRAVEL_SAMPLE_QUESTION_H
#define CSE_RUN_TRAVEL_SAMPLE_QUESTION_H

#include "run/travel/replay.h"

typedef struct cse_sample_loss {
    int64_t sample;     /* its number in the data */
    int64_t place;      /* in the batch */
    int64_t microbatch; /* in which it was computed */
    double loss;        /* the mean of its terms, as the loss of a language model has of tokens */
    int64_t worst;      /* the term that is largest, from 0 */
    double worst_loss;
    bool has_gradient; /* then: */
    double gradient_norm;
} cse_sample_loss;

typedef struct cse_sample_losses {
    cse_sample_loss *losses; /* [count], the largest first; NaN is larger than anything */
    int64_t count, terms;    /* terms of each sample */
    double *gradient_norms;  /* by microbatch; NULL: they were too large to be kept */
    int64_t microbatches;
    /* Of the gradients of samples: how far their sum is from the step's gradient, in parts of the
     * sum of their norms. */
    bool has_gradients;
    double sum_difference;
} cse_sample_losses;

typedef struct cse_sample_question {
    const char *model_dir;
    int64_t step;
    int num_csx; /* 0: as the run's last start */
    cse_kept_states kept;
    bool gradients;        /* of samples as well; then the samples of the largest ones are first */
    int64_t gradient_most; /* of so many samples, those of the largest losses; 0: of all */
} cse_sample_question;

#endif
