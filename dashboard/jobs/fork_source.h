/* The run whose past a new job shares (fork_from): `csengine fork` as a job of the queue. Looked at
 * when the job is requested, so that what cannot be forked is refused, and again when it is
 * started. */
#ifndef CSE_DASHBOARD_JOBS_FORK_SOURCE_H
#define CSE_DASHBOARD_JOBS_FORK_SOURCE_H

#include "dashboard/jobs/job_table.h"
#include "engine/base/arena.h"

/* The folder of the run that `from` (ForkFrom) names, with the lock held. CSE_NO_INPUT: there is no
 * such job; CSE_PERMISSION: it was requested with another token than that of `grant`, which may be
 * NULL (a fork shares its files). */
cse_status cse_fork_source_find(cse_jobs *jobs, const json_t *from, const cse_grant *grant,
                                char model_dir[CSE_JOB_PATH_BYTES]);
/* Whether a run there has the steps to share. CSE_NO_INPUT: it has not done the step, or nothing;
 * CSE_DATA: it keeps no digests of its steps, so that what both share could not be proved. */
cse_status cse_fork_source_check(const char *model_dir, const json_t *from);
/* The configuration of the fork, in the arena. */
cse_status cse_fork_source_configuration(const char *model_dir, const json_t *from,
                                         cse_arena *arena, const char **yaml);

#endif
