/* By what runs are compared: the settings of a job's configuration and its series in figures. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_VALUES_H
#define CSE_DASHBOARD_QUEUE_JOB_VALUES_H

#include "dashboard/jobs/job_table.h"

/* {"settings": {path: text}, "metrics": {name: {last, min, max}}}: settings that have a value, by
 * their path in the resolved configuration; of metrics the last value and the least and largest of
 * the finite ones. Read once of a settled job; the caller owns a reference, and changes nothing. */
json_t *cse_job_values(cse_jobs *jobs, const cse_job *job);

/* A copy of `values` in which the named series have the member "at": the newest value up to a step,
 * null where the run has not come so far. */
json_t *cse_job_values_at(cse_jobs *jobs, const cse_job *job, int64_t step, const json_t *names,
                          const json_t *values);

#endif
