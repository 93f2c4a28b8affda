/* The worst samples of a validation, by their loss, and how good a classifier's probabilities are.
 *
 * The validation's step hands out, beside its loss, a row of numbers for each sample of the batch:
 * each microbatch puts its rows to the places of its samples in a table of zeros, and the tables
 * are summed over the batch, which changes no number. So the rows are the same for any number of
 * processes and hosts. The coordinator keeps the worst rows and counts of the others: memory does
 * not grow with the validation. Of equal losses the sample with the smaller number is the worse
 * one; a loss that is NaN is worse than any number.
 *
 * The loss of a sample is: of a classifier, the cross entropy of its label; of a language model,
 * the mean of those of its tokens that count; with `targets`, the mean of the squared differences.
 * Other models offer none. Label smoothing and weights of classes do not enter it. */
#ifndef CSE_RUN_JOB_VALIDATED_SAMPLES_H
#define CSE_RUN_JOB_VALIDATED_SAMPLES_H

#include "run/job/class_curves.h"
#include "run/session/observer.h"
#include "run/session/session.h"

enum { CSE_MOST_WORST_SAMPLES = 32 };

typedef enum cse_sample_rows_kind {
    CSE_ROWS_NONE,       /* the step hands out none */
    CSE_ROWS_CLASSES,    /* loss, label, and the probability of each class */
    CSE_ROWS_CONFIDENCE, /* of many classes: loss, label, predicted class, its probability */
    CSE_ROWS_TOKENS,     /* the loss of each token; below 0: it does not count */
    CSE_ROWS_NUMBERS,    /* loss, first target, first output */
} cse_sample_rows_kind;

typedef struct cse_worst_sample {
    int64_t number; /* in the data */
    double loss;
    float *row; /* [columns] */
} cse_worst_sample;

typedef struct cse_validated_samples {
    const cse_session *session;
    int most;
    bool takes; /* the execution that is under way is one whose samples are kept */
    cse_sample_rows_kind kind;
    int64_t columns;
    int64_t seen; /* samples whose rows were looked at */
    bool whole;   /* all of the validation were */
    const cse_step *step;
    int fetch; /* in the step's graph */
    cse_worst_sample worst[CSE_MOST_WORST_SAMPLES];
    int count;
    float *rows; /* [most, columns] */
    cse_class_curves curves;
    cse_session_observer observer;
} cse_validated_samples;

/* In the step of a validation, before its metrics: hands the rows out. `labels` and `predictions`
 * as metrics have them; labels may be NULL. */
void cse_validated_samples_trace(cse_step *step, cse_tensor *predictions, cse_tensor *labels);

/* Observes the session's executions, after `after`. `most`: of the worst. */
void cse_validated_samples_attach(cse_validated_samples *samples, cse_session *session, int most,
                                  cse_session_observer *after);
/* A validation begins, and has done its steps. */
void cse_validated_samples_begin(cse_validated_samples *samples);
void cse_validated_samples_end(cse_validated_samples *samples);
void cse_validated_samples_clear(cse_validated_samples *samples);

#endif
