/* The paths that a process of a confined job needs, with what it may do there: the list that the
 * kernel's limits are made from (sandbox.h), and the view of the file system in a name space of the
 * job's own (name_spaces.h). */
#ifndef CSE_BASE_JOB_PATHS_H
#define CSE_BASE_JOB_PATHS_H

#include "engine/base/confinement.h"
#include "engine/base/landlock.h"
#include "engine/base/sandbox_profile.h"

typedef struct cse_job_path {
    char *path;
    cse_landlock_access access;
} cse_job_path;

typedef struct cse_job_paths {
    cse_job_path *items; /* may name what does not exist */
    int count, capacity;
} cse_job_paths;

void cse_job_paths_collect(cse_sandbox_profile profile, const cse_confinement *confinement,
                           const char *private_folder, cse_job_paths *paths);
void cse_job_paths_clear(cse_job_paths *paths);

#endif
