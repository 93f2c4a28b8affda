/* The command of a run whose coordinator was killed, while another host leads it: it shows what
 * that one does, and ends as the run ends. */
#ifndef CSE_RUN_HOSTS_LED_ELSEWHERE_H
#define CSE_RUN_HOSTS_LED_ELSEWHERE_H

#include "run/job/job.h"

/* Waits for a host that takes the lead, as long as one may need for that, then for the end of what
 * it leads; the job's events are shown as those of a job that runs here. `goes_on`: nobody leads,
 * and the run is to be taken over here. Otherwise *result and the status say how the run ended.
 * Asked to stop, it asks the leading host for that. */
cse_status cse_led_elsewhere(const cse_job_environment *environment, cse_job_result *result,
                             bool *goes_on);

#endif
