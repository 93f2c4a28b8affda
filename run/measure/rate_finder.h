/* Finds a learning rate: one training in which it grows from step to step by the same factor (Smith
 * 2017), and where the loss falls the fastest.
 *
 * The training is a variant (variants.h): model_dir is not touched. It ends where the loss has
 * diverged. Losses are smoothed by an exponential average with its bias corrected. */
#ifndef CSE_RUN_MEASURE_RATE_FINDER_H
#define CSE_RUN_MEASURE_RATE_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_rate_finder_options {
    const char *config;          /* path of CONFIG.yaml */
    const char *const *settings; /* PATH=VALUE, ended by NULL */
    double first, last;          /* learning rates of the first and the last step */
    int64_t steps;
    double smoothing;  /* share of the average before in the next one, from 0 on, below 1 */
    double divergence; /* a smoothed loss of more than so many times the least ends it */
    void *self;
    void (*on_step)(void *self, int64_t step); /* may be NULL */
} cse_rate_finder_options;

typedef struct cse_rate_point {
    double rate, loss, smoothed;
} cse_rate_point;

/* Release with cse_found_rates_clear. */
typedef struct cse_found_rates {
    cse_rate_point *points; /* of each step whose loss is a number */
    int64_t count;
    bool diverged;
    int64_t least; /* the point of the least smoothed loss */
    int64_t
        steepest; /* before it, where the smoothed loss falls the fastest by the logarithm of the
                         rate; -1: nowhere */
} cse_found_rates;

/* CSE_FAILED with the child's message where it trained no step; CSE_INTERRUPTED at Ctrl-C. */
cse_status cse_rates_find(const cse_rate_finder_options *options, cse_found_rates *found);
void cse_found_rates_clear(cse_found_rates *found);

/* The same of losses that are there. */
void cse_rates_judge(const cse_rate_finder_options *options, const float *losses, int64_t count,
                     cse_found_rates *found);

#endif
