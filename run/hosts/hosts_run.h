/* A job from its settings to its end, on whatever hosts it has: by itself, as the leader of the
 * hosts that its settings name, on others when they change, or watched while another host leads
 * it. */
#ifndef CSE_RUN_HOSTS_HOSTS_RUN_H
#define CSE_RUN_HOSTS_HOSTS_RUN_H

#include "run/job/job.h"

/* `environment`: those who watch are called, its hosts are set here. Returns the first failure;
 * `result` holds what was reached before it. */
cse_status cse_hosts_run(cse_job_environment *environment, cse_job_result *result);

#endif
