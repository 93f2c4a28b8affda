/* A job with another number of replicas than it was requested with. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_SCALE_H
#define CSE_DASHBOARD_QUEUE_JOBS_SCALE_H

#include "dashboard/jobs/job_account.h"

/* Its request with that number, the caller's, also after a failure, and what it takes then. Fails
 * as its creation would, with CSE_USAGE. */
cse_status cse_job_scale_check(const cse_jobs *jobs, const cse_job_record *record, int64_t num_csx,
                               json_t **spec, cse_job_demand *demand);

#endif
