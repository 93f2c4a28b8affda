/* The environment of a confined job: variables of a list, and those that the operator names
 * besides. What else a server's environment holds, such as keys of a cloud, no job gets. */
#ifndef CSE_BASE_JOB_ENVIRONMENT_H
#define CSE_BASE_JOB_ENVIRONMENT_H

#include "engine/base/confinement.h"

/* The words of this process's environment that a job keeps, with a NULL at the end; one allocation,
 * which has room for one more. The words are borrowed. All of them with NULL. */
char **cse_job_environment_list(const cse_confinement *confinement);

/* Removes all others from this process: getenv does not find them, programs that it starts do not
 * get them, and their bytes, which /proc/PID/environ shows, are overwritten. Before there are
 * threads. */
void cse_job_environment_enter(const cse_confinement *confinement);

#endif
