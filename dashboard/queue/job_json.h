/* Jobs as the API shows them. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_JSON_H
#define CSE_DASHBOARD_QUEUE_JOB_JSON_H

#include "dashboard/jobs/job_table.h"

/* Job as the API shows it. */
json_t *cse_job_json(cse_jobs *jobs, const cse_job *job);
/* All changes of state, made by the server or by the run, by time. */
json_t *cse_job_transitions_json(cse_jobs *jobs, const cse_job *job);

#endif
