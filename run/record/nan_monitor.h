/* What the coordinator makes of observed steps: rows of the run store, and words for errors. */
#ifndef CSE_RUN_RECORD_NAN_MONITOR_H
#define CSE_RUN_RECORD_NAN_MONITOR_H

#include "engine/execute/tensor_statistics.h"
#include "store/store.h"
#include "workers/control/execution.h"

/* All accept NULL: nothing is observed. */
typedef struct cse_nan_monitor cse_nan_monitor;

/* Watches an execution of `graph`, with its tracked; writes to `store` unless that is NULL.
 * Both are borrowed. Steps and microbatches in the store: steps count from 1, microbatches from 0,
 * -1 is none; the exponent of a tensor of zeros is -127; an update's row has count, absorbed and
 * digest. */
cse_nan_monitor *cse_nan_monitor_new(const cse_graph *graph, struct cse_store *store);
void cse_nan_monitor_destroy(cse_nan_monitor **watch);

/* In the order of steps, each committed one. */
void cse_nan_monitor_record(cse_nan_monitor *watch, const cse_record *record);

/* The end of a sentence about numbers that are not finite: the first tensor that was, and those of
 * the last observed step that began it; "" while none was seen. Borrowed until the next record. */
const char *cse_nan_monitor_overflows(const cse_nan_monitor *watch);

#endif
