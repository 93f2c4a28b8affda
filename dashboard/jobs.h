/* The jobs that a server knows: one run that somebody else started, or a root's queue.
 *
 * In a root each job has a directory of its own, its process is a `csengine start` that leads a
 * session of its own, and everything about it stands in files: jobs.db says what was asked and
 * which process was started, the run's lock says whether it lives, the run store says what it does.
 * So the server may be killed at any instant: the jobs go on, and the next server reads how they
 * stand. A root has one server, which holds a lock. */
#ifndef CSE_DASHBOARD_JOBS_H
#define CSE_DASHBOARD_JOBS_H

#include "dashboard/job_create.h"
#include "dashboard/job_json.h"
#include "dashboard/job_table.h"
#include "dashboard/jobs_commands.h"

/* CSE_TEMPORARY when another server has the root; CSE_NO_INPUT when the run has no store. */
cse_status cse_jobs_open(const cse_jobs_options *options, cse_jobs **jobs);
/* The jobs go on. */
void cse_jobs_close(cse_jobs **jobs);

#endif
