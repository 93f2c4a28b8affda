/* A sweep as JSON: what its file says, and what its trials do. */
#ifndef CSE_DASHBOARD_SWEEPS_SWEEP_JSON_H
#define CSE_DASHBOARD_SWEEPS_SWEEP_JSON_H

#include "dashboard/jobs/job_table.h"
#include "run/sweep/sweep_log.h"

/* As the schema SweepSummary; `name` is that of its folder. */
json_t *cse_sweep_summary_json(const cse_sweep_log *log, const char *name);
/* As the schema Sweep. */
json_t *cse_sweep_json(const cse_sweep_log *log, const char *name, cse_jobs *jobs);

#endif
