/* The run whose past a run shares: one that `csengine fork` made, which has the shared points
 * itself, or a job that began with a checkpoint of another one (resume_from), which has not. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_FORK_H
#define CSE_DASHBOARD_QUEUE_JOB_FORK_H

#include "dashboard/jobs/job_table.h"

/* {"job": id|null, "model_dir": text|null, "step": the last shared one, "copied": whether the run
 * has the points up to it}; null: it began by itself, or it is not known yet at which step.
 * `reader` may be NULL. */
json_t *cse_job_fork_json(const cse_job_record *record, cse_store_reader *reader);

/* The id of the run that a fork, as above, shares its past with; false: it is no job here. */
bool cse_job_fork_origin(cse_jobs *jobs, const json_t *fork, char id[CSE_JOB_ID_BYTES]);

#endif
