/* Names the tensors in which numbers ceased to be finite, for the message of a run that diverged.
 *
 * It reads the tensor statistics of the steps that collect them, in step order. */
#ifndef CSE_RUN_SESSION_NAN_MONITOR_H
#define CSE_RUN_SESSION_NAN_MONITOR_H

#include "workers/control/execution.h"

typedef struct cse_nan_monitor cse_nan_monitor;

/* For an execution of `graph`, which is borrowed; NULL when the graph tracks no tensors. All other
 * functions accept NULL and then do nothing. */
cse_nan_monitor *cse_nan_monitor_new(const cse_graph *graph);
void cse_nan_monitor_destroy(cse_nan_monitor **monitor);

/* Each committed record, in step order. */
void cse_nan_monitor_record(cse_nan_monitor *monitor, const cse_record *record);

/* The end of a sentence about numbers that are not finite: the first such tensor, and the other
 * tensors of that step whose values were too large for their format; "" while all are finite.
 * Borrowed until the next record. */
const char *cse_nan_monitor_text(const cse_nan_monitor *monitor);

#endif
