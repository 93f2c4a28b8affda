/* Observes executions; the job tells the phases that no execution knows of. */
#include "run/job/job_watch.h"

#include <math.h>
#include <string.h>

#include "engine/base/clock.h"
#include "run/record/series.h"
#include "run/session/session.h"

static void tell(const cse_job_watch *watch, const cse_job_event *event)
{
    if (watch->options.on_event != NULL)
        watch->options.on_event(watch->options.self, event);
}

void cse_job_watch_phase(cse_job_watch *watch, cse_job_phase phase)
{
    if (phase == watch->phase)
        return;
    watch->phase = phase;
    cse_job_event event = { .kind = CSE_JOB_PHASE };
    if (watch->step != NULL)
        cse_job_watch_describe(watch, NULL, &event);
    event.phase = phase;
    tell(watch, &event);
}

/* The learning rate of the step's first group of parameters, NaN when it has none. */
static double learning_rate(const cse_job_watch *watch, const cse_values *values)
{
    const char *name;
    double value;
    for (int i = 0; values != NULL && cse_values_named(values, &i, &name, &value);)
        if (strncmp(name, "lr/", 3) == 0)
            return value;
    return watch->rate;
}

void cse_job_watch_describe(const cse_job_watch *watch, const cse_values *values,
                            cse_job_event *event)
{
    const cse_session_report *report = watch->report;
    bool training = watch->step->training;
    event->phase = watch->phase;
    event->first_step = report->first_step;
    event->loop_last_step = report->last_step;
    event->last_step = report->run_last_step;
    event->batch_size = report->batch_size;
    event->training = training;
    event->learning_rate = training ? learning_rate(watch, values) : NAN;
    event->more_loops = watch->options.validates;
    event->time_ms = (report->commit_ns + watch->unix_ns) / 1000000;
    if (training && report->steps_per_epoch > 0) {
        event->epoch = (double)event->step / (double)report->steps_per_epoch;
        event->last_epoch = (double)event->last_step / (double)report->steps_per_epoch;
    }
}

/* ---- the session's observer ---- */

static void on_start(void *self, const cse_step *step, const cse_session_report *report)
{
    cse_job_watch *watch = self;
    watch->step = step;
    watch->told_ns = 0;
    watch->stepped_ns = 0;
    watch->told_step = report->first_step;
    cse_job_watch_phase(watch, CSE_JOB_STARTING);
}

static void note_loss(cse_job_watch *watch, const cse_record *record)
{
    const cse_step *step = watch->step;
    if (!step->training || step->loss_fetch < 0)
        return;
    cse_loss_trend_begin(&watch->trend, watch->model_dir, record->step + 1);
    cse_loss_trend_add(&watch->trend, cse_fetched_number(&step->graph->fetches[step->loss_fetch],
                                                         record->fetched));
}

/* Without what stands between steps: a start, a validation, a pause. */
static void time_step(cse_job_watch *watch, const cse_record *record)
{
    enum { OF_LAST = 64 };
    if (!watch->step->training)
        return;
    if (watch->stepped_ns != 0) {
        const double seconds = (double)(record->committed_ns - watch->stepped_ns) / 1e9;
        watch->timed_steps += watch->timed_steps < OF_LAST;
        watch->step_seconds += (seconds - watch->step_seconds) / (double)watch->timed_steps;
    }
    watch->stepped_ns = record->committed_ns;
}

/* Tells the newest step when the interval has passed. The first step only begins the interval. */
static void on_step(void *self, const cse_record *record)
{
    cse_job_watch *watch = self;
    note_loss(watch, record);
    time_step(watch, record);
    const int64_t since_ns = record->committed_ns - watch->told_ns;
    const int64_t step = record->step + 1;
    if (watch->options.interval_ns <= 0 ||
        (watch->told_ns != 0 && since_ns < watch->options.interval_ns))
        return;
    const cse_values values = { .graph = watch->step->graph,
                                .fetched = record->fetched,
                                .fetches = &watch->step->loss_fetch,
                                .count = watch->step->loss_fetch >= 0,
                                .step = step };
    const double samples = (double)(step - watch->told_step) * (double)watch->report->batch_size;
    cse_job_event event = { .kind = CSE_JOB_PROGRESS, .step = step };
    event.loss = (float)cse_value(&values, 0);
    if (watch->told_ns != 0)
        event.samples_per_second = samples * 1e9 / (double)(since_ns > 0 ? since_ns : 1);
    cse_job_watch_describe(watch, &values, &event);
    watch->told_ns = record->committed_ns;
    watch->told_step = step;
    tell(watch, &event);
}

static void on_phase(void *self, cse_phase phase, const char *message)
{
    static const cse_job_phase phases[] = {
        [CSE_PHASE_STARTING] = CSE_JOB_STARTING,     [CSE_PHASE_RUNNING] = CSE_JOB_TRAINING,
        [CSE_PHASE_PAUSING] = CSE_JOB_PAUSED,        [CSE_PHASE_PAUSED] = CSE_JOB_PAUSED,
        [CSE_PHASE_RECOVERING] = CSE_JOB_RECOVERING, [CSE_PHASE_CANCELLING] = CSE_JOB_STOPPING,
    };
    cse_job_watch *watch = self;
    (void)message;
    watch->stepped_ns = 0;
    if (phase == CSE_PHASE_RUNNING && !watch->step->training)
        cse_job_watch_phase(watch, CSE_JOB_VALIDATING);
    else
        cse_job_watch_phase(watch, phases[phase]);
}

void cse_job_watch_start(cse_job_watch *watch, const cse_job_watch_options *options,
                         cse_session *session)
{
    *watch = (cse_job_watch){ .options = *options,
                              .report = &session->report,
                              .phase = CSE_JOB_PREPARING,
                              .unix_ns = cse_unix_ns() - cse_clock_ns(),
                              .rate = NAN,
                              .model_dir = session->configuration.model_dir,
                              .observer = { .self = watch,
                                            .on_start = on_start,
                                            .on_step = on_step,
                                            .events = { .self = watch, .on_phase = on_phase } } };
    session->observer.next = &watch->observer;
    session->observer.events.next = &watch->observer.events;
}
