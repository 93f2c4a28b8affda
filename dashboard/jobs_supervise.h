/* The thread that starts and supervises the jobs of a root. */
#ifndef CSE_DASHBOARD_JOBS_SUPERVISE_H
#define CSE_DASHBOARD_JOBS_SUPERVISE_H

#include "dashboard/job_table.h"

/* With the lock held, before the thread: finds the processes that an earlier server started. */
void cse_jobs_adopt(cse_jobs *jobs);
/* The thread: `jobs` is the table. It ends when `ending` is set and it is nudged. */
void *cse_jobs_supervise(void *jobs);

#endif
