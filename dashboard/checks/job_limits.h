/* What the jobs of this server may touch: as a value for the check of configurations, and as
 * arguments of the processes. */
#ifndef CSE_DASHBOARD_CHECKS_JOB_LIMITS_H
#define CSE_DASHBOARD_CHECKS_JOB_LIMITS_H

#include "engine/base/confinement.h"

/* Folders that the operator named, as NULL-terminated lists; NULL: none. */
typedef struct cse_job_limits {
    const char *const *data_roots;   /* none: the data sets of Debian */
    const char *const *output_roots; /* besides a job's own folder */
    const char *const *libraries;
    const char *const *programs;
    const char *const *variables; /* of the environment, besides those of job_environment.h */
} cse_job_limits;

/* `directory`: the queue's root, in which each job has a folder, or the folder of one run. */
cse_status cse_job_limits_make(const cse_job_limits *limits, const char *directory, bool is_queue,
                               cse_confinement **confinement);

/* Writes the options of `csengine start` to words[0..], each of which is the caller's (free);
 * returns their number, at most `most`. */
int cse_job_limits_words(const cse_confinement *confinement, char *words[], int most);

#endif
