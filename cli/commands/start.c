/* `csengine start`: train, and validate if there is data for it. */
#include <stddef.h>

#include "cli/dashboard_child.h"
#include "cli/detach.h"
#include "cli/job.h"

typedef struct started {
    const cse_command_line *line;
    cse_prepared_job *job;
} started;

static bool takes_steps(const cse_prepared_job *job)
{
    const cse_configuration *session = &job->settings.session;
    return !session->compile_only && !session->validate_only;
}

/* Only for a run that executes steps. */
static void start_dashboard(const cse_command_line *line, const cse_prepared_job *job)
{
    if (!takes_steps(job) || cse_dashboard_is_off() || cse_option_is_on(line, "no_dashboard"))
        return;
    const cse_dashboard_child child = { .model_dir = job->settings.session.model_dir,
                                        .listen = cse_option_value(line, "listen"),
                                        .json = cse_option_is_on(line, "json") };
    cse_dashboard_child_start(&child);
}

/* Runs in the supervisor, with which the dashboard ends. */
static int run_job(void *self)
{
    const started *s = self;
    start_dashboard(s->line, s->job);
    return cse_job_run_supervised(s->line, s->job);
}

static int run_started(const cse_command_line *line, cse_prepared_job *job)
{
    started s = { .line = line, .job = job };
    if (!cse_option_is_on(line, "detach") || !takes_steps(job))
        return run_job(&s);
    return cse_detach(&(cse_detach_options){ .model_dir = job->settings.session.model_dir,
                                             .json = cse_option_is_on(line, "json"),
                                             .body = run_job,
                                             .self = &s });
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, CSE_JOB_TRAIN, &job);
    job.settings.run_store = true;
    int exit_code = status == CSE_OK ? run_started(line, &job) : cse_job_report(line, &job, status);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_LOOP_OPTIONS,
    { "listen", "ADDRESS", NULL, "where the dashboard listens: 127.0.0.1:PORT, unix:PATH" },
    { "no_dashboard", NULL, NULL, "starts no dashboard, as with CSE_DASHBOARD=0" },
    { "detach", NULL, NULL,
      "returns when training has started, and leaves it running in the background" },
    { "json", NULL, NULL, "prints JSON lines: each logged step and the result" },
    { 0 },
};

const cse_command cse_command_start = {
    .name = "start",
    .summary = "trains the model of a configuration",
    .arguments = "CONFIG.yaml",
    .doc =
        "Continues from the newest checkpoint of model_dir. Ctrl-C once stops with a checkpoint,\n"
        "twice stops at once. Options take precedence over --set, and --set over the file. The\n"
        "dashboard ends with the run; `csengine serve --run MODEL_DIR` shows it again.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
