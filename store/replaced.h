/* Points of steps that a later start did again: they lie beside the run's own (store/supersede.h),
 * and no figure has them. */
#ifndef CSE_STORE_REPLACED_H
#define CSE_STORE_REPLACED_H

#include "store/reader.h"

/* As cse_store_reader_metrics, of those points: one curve for each series and attempt that has any.
 * A store of before they were kept has none. */
cse_status cse_store_reader_replaced(cse_store_reader *reader, const cse_metrics_query *query,
                                     cse_curve_take *take, void *self);

/* An attempt, by the steps of its losses. */
typedef struct cse_attempt_steps {
    int64_t attempt;
    int64_t first, last;                   /* that count; 0: none does */
    int64_t replaced_first, replaced_last; /* that a later start did again; 0: none */
} cse_attempt_steps;

/* Calls `take` for each attempt that has points, in order; by seeks, whatever the run's length. */
cse_status cse_store_reader_attempts(cse_store_reader *reader,
                                     void (*take)(void *self, const cse_attempt_steps *attempt),
                                     void *self);

#endif
