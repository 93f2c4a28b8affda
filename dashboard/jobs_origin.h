/* The checkpoint of another job that a new job starts from (resume_from). */
#ifndef CSE_DASHBOARD_JOBS_ORIGIN_H
#define CSE_DASHBOARD_JOBS_ORIGIN_H

#include "dashboard/job_table.h"

/* Appends the path of the checkpoint that `from` (ResumeFrom) names. CSE_NO_INPUT, listing those
 * that exist, when there is no such job or checkpoint. With `may_come`, nothing is appended for a
 * job that has not ended, since it may still write the checkpoint. With the lock held. */
cse_status cse_job_origin_find(cse_jobs *jobs, const json_t *from, bool may_come, cse_text *path);

#endif
