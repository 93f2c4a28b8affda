/* The thread that starts and supervises the jobs of a root. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_SUPERVISE_H
#define CSE_DASHBOARD_QUEUE_JOBS_SUPERVISE_H

#include "dashboard/jobs/job_table.h"

/* With the lock held, before the thread: finds the processes that an earlier server started. */
void cse_jobs_adopt(cse_jobs *jobs);
/* With the lock held: notices what has ended, and starts what is to be started. */
void cse_jobs_check(cse_jobs *jobs);
/* The body of the thread; `jobs` is the table. It returns once `ending` is set and cse_jobs_wake
 * was called. */
void *cse_jobs_supervise(void *jobs);

#endif
