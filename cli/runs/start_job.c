/* Starts a prepared job: in the background or not, with the dashboard that shows it. */
#include "cli/runs/start_job.h"

#include <stddef.h>

#include "cli/runs/dashboard_child.h"
#include "cli/terminal/detach.h"
#include "dashboard/http/server_address.h"
#include "engine/base/confinement.h"

typedef struct started {
    const cse_command_line *line;
    cse_prepared_job *job;
} started;

static bool takes_steps(const cse_prepared_job *job)
{
    const cse_configuration *session = &job->settings.session;
    return !session->compile_only && !session->validate_only;
}

/* Only for a run that executes steps, and not for a confined one, which may not listen. */
static bool wants_dashboard(const cse_command_line *line, const cse_prepared_job *job)
{
    return takes_steps(job) && cse_confinement_view() == NULL && !cse_dashboard_is_off() &&
           !cse_option_is_on(line, "no_dashboard");
}

/* Runs in the supervisor; the dashboard ends with it and the coordinator. */
static int run_job(void *self)
{
    const started *s = self;
    cse_dashboard_child dashboard = { .model_dir = s->job->settings.session.model_dir,
                                      .listen = cse_option_value(s->line, "listen"),
                                      .json = cse_option_is_on(s->line, "json"),
                                      .quiet = cse_option_is_on(s->line, "quiet") };
    if (cse_confinement_view() == NULL && takes_steps(s->job) && dashboard.model_dir != NULL)
        cse_server_address_sweep(dashboard.model_dir);
    if (wants_dashboard(s->line, s->job)) {
        cse_dashboard_child_prepare(&dashboard);
        s->job->dashboard = &dashboard;
    }
    return cse_job_run_supervised(s->line, s->job);
}

int cse_start_job(const cse_command_line *line, cse_prepared_job *job)
{
    started s = { .line = line, .job = job };
    if (!cse_option_is_on(line, "detach") || !takes_steps(job))
        return run_job(&s);
    return cse_detach(&(cse_detach_options){ .model_dir = job->settings.session.model_dir,
                                             .json = cse_option_is_on(line, "json"),
                                             .body = run_job,
                                             .self = &s });
}
