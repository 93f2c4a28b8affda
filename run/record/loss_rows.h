/* Events of the type `loss`: a process was lost and replaced, a host left the run or joined it. The
 * state of the run says of most of them nothing: it goes on.
 *
 *     {"what": "process"|"host", "name", "change": "replaced"|"left"|"joined", "time_ms",
 *      "milliseconds": until a process was replaced, or null, "reason"}
 */
#ifndef CSE_RUN_RECORD_LOSS_ROWS_H
#define CSE_RUN_RECORD_LOSS_ROWS_H

#include "store/store.h"

void cse_loss_rows_process(cse_store *store, const cse_recovery *recovery);

/* The hosts of a run, by its reports. Which they were is kept in the store (key `hosts`): those of
 * a later start, or of another leader, are compared with them. */
typedef struct cse_host_rows cse_host_rows;

/* `model_dir`: where the store is. */
cse_host_rows *cse_host_rows_new(cse_store *store, const char *model_dir);
/* A report of the topology (run/job/host_reports.h); one without hosts says nothing. */
void cse_host_rows_take(cse_host_rows *rows, const char *report);
void cse_host_rows_destroy(cse_host_rows **rows);

#endif
