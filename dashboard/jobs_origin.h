/* The checkpoint of another job that a new job starts from (resume_from). */
#ifndef CSE_DASHBOARD_JOBS_ORIGIN_H
#define CSE_DASHBOARD_JOBS_ORIGIN_H

#include "dashboard/job_table.h"

/* The path of the checkpoint that `from` (ResumeFrom) means, appended. CSE_NO_INPUT,
 * saying what there is, when there is no such job or checkpoint; `may_come`: of a job that has not
 * ended nothing is appended instead, since it may still write one. With the lock held. */
cse_status cse_job_origin_find(cse_jobs *jobs, const json_t *from, bool may_come, cse_text *path);

#endif
