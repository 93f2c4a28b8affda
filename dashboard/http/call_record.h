/* What is kept of calls that change something: the audit, and the answers to calls with an
 * Idempotency-Key, which a repeated call gets again. The functions of cse_call_hooks; `db` is the
 * server's cse_jobs_db, or NULL when it cannot be written. */
#ifndef CSE_DASHBOARD_HTTP_CALL_RECORD_H
#define CSE_DASHBOARD_HTTP_CALL_RECORD_H

#include "dashboard/api/route.h"

bool cse_call_replay(void *db, const cse_request *request, cse_answer *answer);
void cse_call_record(void *db, const cse_request *request, const cse_answer *answer);

#endif
