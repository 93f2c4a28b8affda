/* The jobs that a server shows: the queue of a root, or one run that was started elsewhere.
 *
 * In a root each job has its own directory, and its process is a `csengine start` in a session of
 * its own. Everything about it is in files: jobs.db holds what was requested and which process was
 * started, the run's lock file whether the process lives, the run store what it does. So the server
 * may be killed at any instant: the jobs go on, and the next server reads their state from these
 * files. A root has one server, which holds a lock. */
#ifndef CSE_DASHBOARD_QUEUE_JOBS_H
#define CSE_DASHBOARD_QUEUE_JOBS_H

#include "dashboard/jobs/job_table.h"
#include "dashboard/queue/job_create.h"
#include "dashboard/queue/job_json.h"
#include "dashboard/queue/jobs_commands.h"

/* CSE_TEMPORARY when another server has the root; CSE_NO_INPUT when the run has no store. */
cse_status cse_jobs_open(const cse_jobs_options *options, cse_jobs **jobs);
/* The jobs go on. */
void cse_jobs_close(cse_jobs **jobs);

#endif
