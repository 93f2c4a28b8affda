/* The checkpoint of another job that a new job starts from (resume_from). */
#ifndef CSE_DASHBOARD_JOBS_JOBS_ORIGIN_H
#define CSE_DASHBOARD_JOBS_JOBS_ORIGIN_H

#include "dashboard/jobs/job_table.h"

/* Appends the path of the checkpoint that `from` (ResumeFrom) names. CSE_NO_INPUT, listing those
 * that exist, when there is no such job or checkpoint. With `may_come`, nothing is appended for a
 * job that has not ended, since it may still write the checkpoint. With the lock held. */
cse_status cse_job_origin_find(cse_jobs *jobs, const json_t *from, bool may_come, cse_text *path);

/* CSE_NO_INPUT, with the ids of jobs that exist; `member`: of the JobSpec, for the message. */
cse_status cse_job_origin_missing(const cse_jobs *jobs, const char *member, const char *id);

/* A checkpoint as a source of other jobs. */
typedef struct cse_job_origin {
    const char *job;
    int64_t step;
    bool newest; /* it is the newest of its job */
} cse_job_origin;

/* Whether a job that has not ended starts from it; `user` is then that job's id. Takes the lock. */
bool cse_job_origin_in_use(cse_jobs *jobs, const cse_job_origin *origin,
                           char user[CSE_JOB_ID_BYTES]);

#endif
