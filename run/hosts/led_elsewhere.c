/* The lock says whether somebody leads, the run store what became of it: both lie in model_dir,
 * without which no other host leads. */
#include "run/hosts/led_elsewhere.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "run/control/run_command.h"
#include "run/job/job_settings.h"
#include "run/saving/takeover.h"
#include "store/reader.h"
#include "workers/group/lead_lock.h"

#define TURN_NS INT64_C(50000000)
#define SECOND_NS INT64_C(1000000000)
#define GRACE_NS (2 * SECOND_NS) /* beyond what a host waits before it leads */

typedef struct watch {
    const cse_job_environment *environment;
    const char *model_dir;
    int64_t batch_size, first_step, last_step;
    cse_store_reader *reader; /* NULL: not open */
    int64_t begun_ns, begun_step, shown_step, shown_ns;
    int asked; /* how often it was asked to stop */
    bool told; /* that another host leads */
} watch;

/* ---- what is shown ---- */

static double rate(const watch *w, int64_t steps, int64_t ns)
{
    return ns > 0 ? (double)(steps * w->batch_size) * 1e9 / (double)ns : 0;
}

static void show_step(watch *w, const cse_point *point)
{
    const int64_t now_ns = cse_clock_ns();
    if (w->begun_step == 0) {
        w->begun_step = w->shown_step = point->step;
        w->begun_ns = w->shown_ns = now_ns;
    }
    const cse_job_event event = {
        .kind = CSE_JOB_STEP,
        .step = point->step,
        .last_step = w->last_step,
        .loop_last_step = w->last_step,
        .loss = (float)point->value,
        .samples_per_second = rate(w, point->step - w->shown_step, now_ns - w->shown_ns),
        .global_samples_per_second = rate(w, point->step - w->begun_step, now_ns - w->begun_ns),
        .training = true,
        .batch_size = w->batch_size,
        .learning_rate = (double)NAN,
        .time_ms = point->time_ms,
    };
    w->environment->on_event(w->environment->self, &event);
    w->shown_step = point->step;
    w->shown_ns = now_ns;
}

static void show_progress(watch *w)
{
    const int64_t each =
        w->environment->settings->log_steps > 0 ? w->environment->settings->log_steps : 1;
    cse_point point;
    if (w->reader == NULL && cse_store_reader_open(w->model_dir, &w->reader) != CSE_OK)
        return;
    if (w->environment->on_event != NULL &&
        cse_store_reader_last_point(w->reader, "loss", &point) &&
        point.step / each != w->shown_step / each && cse_clock_ns() - w->shown_ns > SECOND_NS / 4)
        show_step(w, &point);
}

static void take_stop(watch *w)
{
    const cse_job_environment *e = w->environment;
    const int asked = e->stop_requested != NULL ? e->stop_requested(e->self) : 0;
    json_t *action = NULL;
    if (asked <= w->asked)
        return;
    w->asked = asked;
    if (cse_takeover_is_left_alone(
            e->takeover)) /* it has only watched: the run needs nobody here */
        return;
    if (cse_run_command(w->model_dir, asked > 1 ? "kill" : "cancel", NULL, &action) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING,
                     "the host that leads this run cannot be told to stop from here: %s",
                     cse_error_message());
    json_decref(action);
}

/* ---- who leads ---- */

static bool is_led(const watch *w)
{
    bool held = false;
    return cse_lead_lock_look(w->model_dir, &held) == CSE_OK && held;
}

/* One after the other may have to wait until those before it are silent for a lease. */
static bool wait_for_leader(watch *w)
{
    const double lease_s = w->environment->settings->host_settings.lease_seconds;
    const int64_t end_ns = cse_clock_ns() + (int64_t)(1.5 * lease_s * 1e9) + GRACE_NS;
    while (!is_led(w)) {
        if (cse_clock_ns() > end_ns || w->asked > 0)
            return false;
        take_stop(w);
        cse_sleep_ns(TURN_NS);
    }
    if (!w->told)
        cse_log_line(CSE_LOG_INFO, "another host leads the run; this command shows what it does");
    w->told = true;
    return true;
}

static void follow_leader(watch *w)
{
    while (is_led(w) && !cse_takeover_is_left_alone(w->environment->takeover)) {
        show_progress(w);
        take_stop(w);
        cse_sleep_ns(TURN_NS);
    }
    show_progress(w);
}

/* ---- the end ---- */

static cse_status status_of(const char *reason)
{
#define CODE(code, exit_code, retryable, text) code,
    static const cse_status all[] = { CSE_STATUS_TABLE(CODE) };
#undef CODE
    const cse_run_reason wanted = cse_run_reason_of(reason);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != CSE_OK && cse_run_reason_of_status(all[i], false) == wanted)
            return all[i];
    return CSE_INTERNAL;
}

static void fill(const watch *w, const cse_run_status *run, cse_job_result *result)
{
    cse_text digest = { 0 };
    if (cse_store_reader_key(w->reader, "weights_digest", &digest))
        snprintf(result->weights_digest, sizeof result->weights_digest, "%s", digest.data);
    cse_text_clear(&digest);
    result->steps = run->last_step;
    result->stopped = run->state == CSE_RUN_CANCELLED;
    result->steps_run = run->last_step - w->first_step;
    result->samples_run = result->steps_run * w->batch_size;
    result->train_seconds = (double)(cse_clock_ns() - w->environment->started_ns) * 1e-9;
    snprintf(result->checkpoint_path, sizeof result->checkpoint_path, "%s/checkpoint_%lld.mdl",
             w->model_dir, (long long)run->last_step);
}

/* Whether the run has ended, and how; one that was killed has not. */
static bool has_ended(watch *w, cse_job_result *result, cse_status *status)
{
    cse_run_status run;
    if (w->reader == NULL && cse_store_reader_open(w->model_dir, &w->reader) != CSE_OK)
        return false;
    if (cse_store_reader_status(w->reader, &run) != CSE_OK || run.derived ||
        !cse_run_state_is_terminal(run.state))
        return false;
    *status = CSE_OK;
    if (run.state == CSE_RUN_FAILED)
        *status = cse_fail(status_of(run.reason), "%s", run.message);
    else
        fill(w, &run, result);
    return true;
}

cse_status cse_led_elsewhere(const cse_job_environment *environment, cse_job_result *result,
                             bool *goes_on)
{
    watch w = { .environment = environment,
                .model_dir = environment->settings->session.model_dir,
                .batch_size = cse_job_batch_size(environment->settings) };
    cse_status status = CSE_OK;
    bool ended = false, left_alone = false;
    (void)cse_takeover_target(environment->takeover, &w.first_step, &w.last_step);
    while (!ended && !left_alone && wait_for_leader(&w)) {
        follow_leader(&w);
        left_alone = cse_takeover_is_left_alone(environment->takeover);
        ended = has_ended(&w, result, &status);
    }
    cse_store_reader_close(&w.reader);
    *goes_on = !ended && !left_alone && w.asked == 0;
    if (!ended && !*goes_on)
        status = cse_fail(CSE_INTERRUPTED, "told to end while another host led the run, or none");
    if (ended && status == CSE_OK && !result->stopped)
        cse_takeover_note_over(environment->takeover);
    return status;
}
