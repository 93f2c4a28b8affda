/* The sweeps that the server trains: for each a `csengine sweep` that puts its trials into this
 * server's queue and computes nothing itself, so that trials are jobs like any other.
 *
 * A command ends with the server, and the next server starts it again: what is known stands in the
 * sweep's folder, and the jobs go on meanwhile. */
#ifndef CSE_DASHBOARD_SWEEPS_SWEEP_RUNS_H
#define CSE_DASHBOARD_SWEEPS_SWEEP_RUNS_H

#include "dashboard/jobs/job_table.h"

/* Commands at one time; further sweeps wait. */
enum { CSE_MOST_SWEEP_RUNS = 8 };

typedef struct cse_sweep_runs cse_sweep_runs;

/* `jobs` of a root, and `executable`: borrowed. */
cse_sweep_runs *cse_sweep_runs_new(cse_jobs *jobs, const char *executable);
/* Trains what is wanted, once the server can be found by its root. */
void cse_sweep_runs_start(cse_sweep_runs *runs);
/* Ends the commands; their jobs go on. */
void cse_sweep_runs_close(cse_sweep_runs **runs);

/* As cse_sweep_order_place. CSE_USAGE also where a job has the folder of sweeps. */
cse_status cse_sweep_runs_begin(cse_sweep_runs *runs, const json_t *spec, bool *made);
/* Ends the command, then, as soon as they can be asked, its jobs. CSE_NO_INPUT: no such sweep;
 * CSE_USAGE: not the server's. */
cse_status cse_sweep_runs_cancel(cse_sweep_runs *runs, const char *name);

#endif
