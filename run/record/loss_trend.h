/* Whether a training has diverged: its loss ends far above that of its first steps, or is no
 * number.
 *
 * The first steps are the first CSE_TREND_STEPS of the whole history of the run, attempts before
 * this one included. Their size is the largest magnitude among their losses, of which those above
 * ten times the first loss, or ten where that is below 1, are left out: a learning rate that is far
 * too high may show within them. The size is at least 1, so that a loss which begins at or near
 * zero, or below it, has a limit that noise does not reach. The limit is that size times a factor.
 *
 * The last steps are the last CSE_TREND_STEPS. The training has diverged when the loss of one of
 * them is not finite, or when the upper median of them is above the limit: a single high loss is
 * noise. A loss that goes far below zero is what was asked for. */
#ifndef CSE_RUN_RECORD_LOSS_TREND_H
#define CSE_RUN_RECORD_LOSS_TREND_H

#include <stdbool.h>
#include <stdint.h>

enum { CSE_TREND_STEPS = 10 };

typedef struct cse_loss_trend {
    double first[CSE_TREND_STEPS], last[CSE_TREND_STEPS]; /* last: in turn */
    int first_count;
    int64_t count; /* of all steps */
    bool begun;    /* it has the steps of earlier attempts */
} cse_loss_trend;

typedef struct cse_loss_verdict {
    bool diverged;
    double size, limit; /* of the first steps; size times the factor */
    double last;        /* the median of the last ones; NaN where one is not finite */
} cse_loss_verdict;

/* The loss of the next step. */
void cse_loss_trend_add(cse_loss_trend *trend, double loss);
/* factor 0: never diverged. */
cse_loss_verdict cse_loss_trend_judge(const cse_loss_trend *trend, double factor);

/* What the run store of a run, if there is one, has of the steps before `step`. Does nothing when
 * the trend has begun. */
void cse_loss_trend_begin(cse_loss_trend *trend, const char *model_dir, int64_t step);
/* Whether the training of a run had diverged after `step` steps, by its run store. */
bool cse_loss_had_diverged(const char *model_dir, int64_t step, double factor);

#endif
