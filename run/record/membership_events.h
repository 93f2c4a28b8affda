/* Events of the type `membership`: a process ended and was replaced, a host left the run or joined
 * it. Most of them change nothing in the state of the run, which goes on.
 *
 *     {"what": "process"|"host", "name", "change": "replaced"|"left"|"joined", "time_ms",
 *      "milliseconds": until a process was replaced, or null, "reason"}
 */
#ifndef CSE_RUN_RECORD_MEMBERSHIP_EVENTS_H
#define CSE_RUN_RECORD_MEMBERSHIP_EVENTS_H

#include "store/store.h"

void cse_membership_replaced(cse_store *store, const cse_recovery *recovery);

/* The hosts of a run, by its reports. Which they were is kept in the store (key `hosts`): those of
 * a later start, or of another leader, are compared with them. */
typedef struct cse_host_membership cse_host_membership;

/* `model_dir`: where the store is. */
cse_host_membership *cse_host_membership_new(cse_store *store, const char *model_dir);
/* A report of the topology (run/job/host_reports.h); one without hosts says nothing. */
void cse_host_membership_take(cse_host_membership *rows, const char *report);
void cse_host_membership_destroy(cse_host_membership **rows);

#endif
