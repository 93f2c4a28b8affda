/* What the trials of a sweep are doing now: their jobs in this server's queue, or runs of their own
 * in the sweep's folder. */
#ifndef CSE_DASHBOARD_SWEEPS_SWEEP_TRIALS_H
#define CSE_DASHBOARD_SWEEPS_SWEEP_TRIALS_H

#include "dashboard/jobs/job_table.h"
#include "run/sweep/sweep_log.h"

typedef enum cse_trial_state {
    CSE_TRIAL_WAITING, /* it is to be trained, or to be trained further */
    CSE_TRIAL_QUEUED,  /* its job waits for its turn */
    CSE_TRIAL_RUNNING,
    CSE_TRIAL_MEASURED, /* it has the value of its rung, which is not complete */
    CSE_TRIAL_STOPPED,  /* it was not among the best of its rung */
    CSE_TRIAL_DONE,
    CSE_TRIAL_FAILED,
} cse_trial_state;

typedef struct cse_sweep_trial {
    cse_trial_state state;
    int64_t step;               /* that its run has done; -1: not known */
    char job[CSE_JOB_ID_BYTES]; /* of this server, the newest; "": none */
} cse_sweep_trial;

/* Of log->plan.trials, in the log's arena. `rung` and `members` are as cse_sweep_log_members has
 * them. */
cse_sweep_trial *cse_sweep_trials_look(const cse_sweep_log *log, cse_jobs *jobs, int rung,
                                       const int *members, int count);

extern const char *const cse_trial_state_names[];

#endif
