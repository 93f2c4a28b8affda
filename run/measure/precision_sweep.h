/* A configuration trained in float32, and then in each 16-bit format at each precision optimization
 * level (sums rounded as an accelerator would) and with each GraphAMP preset. */
#ifndef CSE_RUN_MEASURE_PRECISION_SWEEP_H
#define CSE_RUN_MEASURE_PRECISION_SWEEP_H

#include "run/measure/variants.h"

typedef struct cse_sweep_row {
    const char *format, *level, *preset; /* as a table shows them */
    int number, count;                   /* from 1; of all rows */
    const cse_variant_result *result;    /* NULL: it begins */
    double loss;                         /* NaN: it did not train to the end */
    double change; /* relative to the loss in float32, which is the first row's */
} cse_sweep_row;

typedef struct cse_sweep {
    cse_variants_options variants;
    void *self;
    void (*on_begin)(void *self, const cse_sweep_row *row); /* before it trains; may be NULL */
    void (*on_row)(void *self, const cse_sweep_row *row);
} cse_sweep;

int cse_sweep_row_count(void);

/* CSE_FAILED when it does not train in float32. */
cse_status cse_sweep_run(const cse_sweep *sweep);

#endif
