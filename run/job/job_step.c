/* What a job does with each step, and the execution of its steps. */
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/nn/update/parameter_groups.h"
#include "run/job/job_hosts.h"
#include "run/job/job_parts.h"

#define LINE_INTERVAL_NS INT64_C(1000000000)

static double rate(int64_t steps, int64_t batch_size, int64_t ns)
{
    return ns > 0 ? (double)steps * (double)batch_size * 1e9 / (double)ns : 0;
}

/* Passes the named scalars of a logged step, and its samples per second, to the loggers. */
static void log_step(const cse_job *j, const cse_values *values, const cse_job_event *event)
{
    const char *name;
    double value;
    if (j->loggers == NULL)
        return;
    for (int i = 0; cse_values_named(values, &i, &name, &value);)
        cse_logger_set_scalar(j->loggers, name, event->step, value);
    for (int g = 0; g < j->optimizer->group_count; g++) {
        char rate[128];
        snprintf(rate, sizeof rate, "lr/%s", j->optimizer->groups[g].name);
        if (cse_group_constant_rate(j->optimizer, &j->optimizer->groups[g], &value))
            cse_logger_set_scalar(j->loggers, rate, event->step, value);
    }
    cse_logger_set_scalar(j->loggers, "samples_per_second", event->step, event->samples_per_second);
    cse_logger_set_flush(j->loggers);
}

/* Writes a line about a step to the log, at most one per LINE_INTERVAL_NS; the values of every step
 * are stored as metrics. */
static void record_line(cse_job *j, const cse_job_event *event)
{
    char line[160];
    int64_t now_ns = cse_clock_ns();
    bool is_last = event->step >= event->last_step;
    if (j->recorder == NULL || (now_ns - j->line_ns < LINE_INTERVAL_NS && !is_last))
        return;
    j->line_ns = now_ns;
    snprintf(line, sizeof line, "%s %lld of %lld, loss %.5f, %.1f samples/s",
             event->training ? "step" : "evaluation batch", (long long)event->step,
             (long long)event->last_step, (double)event->loss, event->global_samples_per_second);
    cse_recorder_line(j->recorder, line);
}

/* Tells the callbacks of a logged step; one of them may end the training there. */
static cse_status call_back(const cse_job *j, const cse_values *values, const cse_job_event *event)
{
    const cse_session_report *report = &j->session->report;
    const double ns = (double)(report->commit_ns - report->first_commit_ns);
    const cse_callback_step step = {
        .step = event->step,
        .last_step = event->last_step,
        .loop_last_step = report->last_step,
        .first_step = j->first_step,
        .loss = (double)event->loss,
        .batch_size = report->batch_size,
        .seconds = j->result->train_seconds + ns * 1e-9,
        .samples_per_second = event->samples_per_second,
        .global_samples_per_second = event->global_samples_per_second,
        .values = values,
    };
    CSE_TRY(cse_callback_set_step(j->callbacks, &step));
    if (j->host.stops) {
        cse_recorder_end_early(j->recorder);
        cse_job_stop(j);
    }
    return CSE_OK;
}

cse_status cse_job_show_step(void *self, const cse_values *values)
{
    cse_job *j = self;
    const cse_session_report *report = &j->session->report;
    int64_t step = cse_values_step(values);
    if (j->logged_ns == 0) {
        j->logged_step = report->first_commit_step;
        j->logged_ns = report->first_commit_ns;
    }
    cse_job_event event = {
        .step = step,
        .last_step = report->run_last_step,
        .loss = (float)cse_value(values, 0),
        .samples_per_second =
            rate(step - j->logged_step, report->batch_size, report->commit_ns - j->logged_ns),
        .global_samples_per_second = rate(step - report->first_commit_step, report->batch_size,
                                          report->commit_ns - report->first_commit_ns),
    };
    cse_job_watch_describe(&j->watch, values, &event);
    event.kind = event.training ? CSE_JOB_STEP : CSE_JOB_EVAL_STEP;
    if (!j->settings->no_progress)
        cse_job_emit(j, &event);
    record_line(j, &event);
    if (event.training)
        log_step(j, values, &event);
    j->logged_step = step;
    j->logged_ns = report->commit_ns;
    return event.training ? call_back(j, values, &event) : CSE_OK;
}

cse_status cse_job_run_loop(cse_job *j, const cse_config_plugin *loader,
                            const cse_executor_options *options, cse_step_function *function)
{
    cse_session_report *report = &j->session->report;
    j->logged_ns = 0;
    cse_job_watch_phase(&j->watch, CSE_JOB_COMPILING);
    cse_status status = cse_run(cse_session_executor_new(options, loader->settings), function, j);
    j->watch.step = NULL;
    if (j->result->artefact_directory[0] == '\0') {
        memcpy(j->result->artefact_directory, report->artefact_directory,
               sizeof report->artefact_directory);
        memcpy(j->result->kernels, report->kernels, sizeof report->kernels);
        j->result->compile_seconds = report->compile_seconds;
        j->result->compile_cached = report->compile_cached;
        j->result->memory = report->memory;
    }
    j->result->stopped = report->execution.stopped;
    if (status == CSE_OK)
        cse_job_take_needs(j, loader == j->settings->train_dataloader, &report->needs);
    return status;
}
