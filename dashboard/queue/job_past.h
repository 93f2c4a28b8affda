/* The past of a run that is a fork, part by part: whose steps they are, where their points lie. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_PAST_H
#define CSE_DASHBOARD_QUEUE_JOB_PAST_H

#include "dashboard/jobs/job_table.h"

/* A part of a run's past that it shares with another one. */
typedef struct cse_job_past {
    char job[CSE_JOB_ID_BYTES];         /* whose part it is; "": no job here */
    char model_dir[CSE_JOB_PATH_BYTES]; /* of that run */
    char source[CSE_JOB_PATH_BYTES];    /* the folder in which the points are */
    int64_t first, last;                /* steps */
} cse_job_past;

enum { CSE_MOST_PASTS = 16 };

/* The parts of its past, the newest first; *own: the first step that is the run's alone. Returns
 * how many there are. */
int cse_job_pasts(cse_jobs *jobs, const cse_job *job, cse_job_past pasts[CSE_MOST_PASTS],
                  int64_t *own);

#endif
