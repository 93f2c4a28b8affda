/* Finds the tensors that first had NaN, infinite or too large values, for the message of a run that
 * diverged. It reads the tensor statistics of the steps that collect them, in step order. */
#ifndef CSE_RUN_EXECUTION_NAN_MONITOR_H
#define CSE_RUN_EXECUTION_NAN_MONITOR_H

#include "workers/control/execution.h"

typedef struct cse_nan_monitor cse_nan_monitor;

/* Makes a monitor for an execution of `graph`, which is borrowed; NULL when the graph tracks no
 * tensors. All other functions accept NULL and then do nothing. */
cse_nan_monitor *cse_nan_monitor_new(const cse_graph *graph);
void cse_nan_monitor_destroy(cse_nan_monitor **monitor);

/* Takes each committed record, in step order. */
void cse_nan_monitor_record(cse_nan_monitor *monitor, const cse_record *record);

/* The end of an error message: "; the first tensor seen not finite is ...", and the other tensors
 * of that step with values too large for their format; "" while all are finite. Borrowed until the
 * next record. */
const char *cse_nan_monitor_text(const cse_nan_monitor *monitor);

#endif
