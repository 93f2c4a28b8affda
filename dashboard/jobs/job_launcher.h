/* Jobs that another scheduler places: the server starts `csengine start --launcher slurm`, which
 * submits the run and waits for it. */
#ifndef CSE_DASHBOARD_JOBS_JOB_LAUNCHER_H
#define CSE_DASHBOARD_JOBS_JOB_LAUNCHER_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the launcher of a JobSpec, if it names one, may be used here, with these options; else
 * appends what is wrong to `diagnostics`. `slurm`: the operator allowed it. */
bool cse_job_launcher_check(const json_t *spec, bool slurm, json_t *diagnostics);

/* Whether the job's process waits for a batch job, which uses none of this machine's cores and ends
 * with it only when it is asked to. */
bool cse_job_is_batch(const json_t *spec);

/* Whether it asks for one node, on which it can be confined: all its processes are there. */
bool cse_job_is_on_one_node(const json_t *spec);

#endif
