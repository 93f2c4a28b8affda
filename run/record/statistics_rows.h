/* Tensor statistics in the run store: one row per tensor, and one per tensor and step.
 *
 * In the store, steps count from 1 and microbatches from 0, with -1 for none; the exponent of a
 * tensor of zeros is -127. A state has two rows per step: its values, and under "NAME.update" the
 * number of values that the update left unchanged. */
#ifndef CSE_RUN_RECORD_STATISTICS_ROWS_H
#define CSE_RUN_RECORD_STATISTICS_ROWS_H

#include "store/store.h"
#include "workers/control/execution.h"

typedef struct cse_statistics_rows cse_statistics_rows;

/* Adds the tensors that `graph` tracks to the store, in execution order. Both are borrowed. NULL
 * when it tracks none; the other functions accept that and do nothing. */
cse_statistics_rows *cse_statistics_rows_new(const cse_graph *graph, cse_store *store);
void cse_statistics_rows_destroy(cse_statistics_rows **rows);

/* Adds the statistics of a committed step, if it collected any, and the event "numerics". */
void cse_statistics_rows_add(const cse_statistics_rows *rows, const cse_record *record);

#endif
