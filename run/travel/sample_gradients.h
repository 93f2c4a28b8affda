/* The gradient of each sample of a past step, by a pass of the step whose microbatches have one
 * sample. What chance decides for a sample goes by its place in the batch (engine/base/random.h),
 * so that it is the same there. That the gradients are those of the samples is not believed: their
 * sum is compared with the step's gradient. */
#ifndef CSE_RUN_TRAVEL_SAMPLE_GRADIENTS_H
#define CSE_RUN_TRAVEL_SAMPLE_GRADIENTS_H

#include "run/travel/sample_question.h"

/* Gradients that are written to files take no more than this. */
#define CSE_MOST_GRADIENT_BYTES (INT64_C(1) << 30)

/* What a step that kept the values of gradients has of them. */
typedef struct cse_logged_gradients {
    int64_t microbatches, elements;
    double *norms; /* [microbatches]; NaN where values of one are not there */
    float *sum;    /* [elements]: of all microbatches, parameter after parameter */
    bool narrow;   /* the step computes in 16 bits */
} cse_logged_gradients;

/* Of the step of the run in `folder`. Clear them also after a failure. */
cse_status cse_logged_gradients_read(const char *folder, int64_t step,
                                     cse_logged_gradients *gradients);
void cse_logged_gradients_clear(cse_logged_gradients *gradients);

/* Fills has_gradient, gradient_norm and sum_difference of `losses`, and sorts them. `whole`: of the
 * step as it was; `first`: a replay of the step that left the states before it. */
cse_status cse_sample_gradients_find(const cse_sample_question *question, const cse_replay *first,
                                     const cse_logged_gradients *whole, cse_sample_losses *losses);

#endif
