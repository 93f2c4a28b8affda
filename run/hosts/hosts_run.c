/* Hosts change between two executions of a job, which goes on from the checkpoint that it saved for
 * that, so that each group of hosts is opened anew. */
#include "run/hosts/hosts_run.h"

#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/base/log.h"
#include "run/hosts/lead_hosts.h"
#include "run/hosts/led_elsewhere.h"
#include "run/job/host_change.h"
#include "run/saving/takeover.h"

/* The failure of the job stays the thread's last. */
static void end_hosts(cse_led_hosts **led, cse_status status, const cse_job_result *result)
{
    cse_error *failure = status != CSE_OK ? cse_error_copy(cse_error_last()) : NULL;
    cse_led_hosts_close(led, status, result);
    if (failure != NULL)
        cse_fail_again(failure);
    free(failure);
}

static cse_status open_hosts(cse_job_environment *environment, cse_led_hosts **led)
{
    return cse_leads_hosts(environment) ? cse_led_hosts_open(environment, NULL, led) : CSE_OK;
}

/* The job, by itself or with the hosts that its environment names. */
static cse_status run_on_hosts(cse_job_environment *environment, cse_job_result *result)
{
    cse_led_hosts *led = NULL;
    cse_status status = open_hosts(environment, &led);
    if (status != CSE_OK && result->hands_on) {
        cse_log_line(CSE_LOG_WARNING, "%s; the run goes on with the hosts that it had",
                     cse_error_message());
        cse_host_change_take_back(environment->host_change, environment);
        status = open_hosts(environment, &led);
    }
    const cse_job_result before = *result;
    if (status == CSE_OK)
        status = cse_job_run(environment, result);
    end_hosts(&led, status, result);
    result->steps_run += before.steps_run;
    result->samples_run += before.samples_run;
    result->train_seconds += before.train_seconds;
    return status;
}

cse_status cse_hosts_run(cse_job_environment *environment, cse_job_result *result)
{
    bool goes_on = true;
    cse_status status = CSE_OK;
    if (environment->settings->mode == CSE_JOB_TRAIN && environment->takeover != NULL)
        environment->host_change = cse_host_change_new(environment->settings);
    if (cse_takeover_count(environment->takeover) > 0 && cse_leads_hosts(environment))
        status = cse_led_elsewhere(environment, result, &goes_on);
    if (goes_on)
        status = run_on_hosts(environment, result);
    while (status == CSE_OK && result->hands_on) {
        cse_host_change_take(environment->host_change, environment);
        cse_takeover_hand_on(environment->takeover);
        status = run_on_hosts(environment, result);
    }
    cse_host_change_destroy(&environment->host_change);
    return status;
}
