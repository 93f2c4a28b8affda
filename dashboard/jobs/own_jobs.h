/* Whose a job is: the holder of a token with a name changes and ends only jobs that were requested
 * with it. Everybody whom the server lets in may read all. */
#ifndef CSE_DASHBOARD_JOBS_OWN_JOBS_H
#define CSE_DASHBOARD_JOBS_OWN_JOBS_H

#include "dashboard/api/route.h"

/* The hook `admits` of route.h: whether the caller may change the job that the path names. `jobs`
 * is a cse_jobs. */
bool cse_own_jobs_admits(void *jobs, const cse_request *request, cse_answer *answer);

#endif
