/* `csengine start`: train, and validate if there is data for it. */
#include <stddef.h>

#include "cli/arguments/confine.h"
#include "cli/runs/batch_start.h"
#include "cli/runs/dashboard_child.h"
#include "cli/runs/job.h"
#include "cli/terminal/detach.h"
#include "cli/terminal/report.h"
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
    bool batch = false;
    const char *listen = cse_option_value(line, "listen");
    cse_status status = listen != NULL ? cse_dashboard_child_check(listen) : CSE_OK;
    if (status == CSE_OK)
        status = cse_batch_start_wanted(line, &batch);
    if (status == CSE_OK)
        status = cse_confine_if_asked(line);
    if (status != CSE_OK)
        return cse_report(status);
    status = cse_job_prepare(line, CSE_JOB_TRAIN, &job);
    job.environment.run_store = true;
    if (cse_confinement_view() != NULL)
        job.settings.session.model_dir =
            cse_confinement_folder(cse_confinement_view(), CSE_PATH_OUTPUT, 0);
    int exit_code = status != CSE_OK ? cse_job_report(line, &job, status)
                    : batch          ? cse_batch_start(line, job.settings.session.model_dir)
                                     : run_started(line, &job);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_RUN_OPTIONS,
    CSE_HOST_OPTIONS,
    CSE_LAUNCHER_OPTIONS,
    CSE_LOOP_OPTIONS,
    { "weights", "PATH", "fit.weights", NULL },
    CSE_ADDED_OPTIONS,
    { "listen", "ADDRESS", NULL, "where the dashboard listens: 127.0.0.1:PORT, unix:PATH" },
    CSE_CONFINE_OPTIONS,
    { "no_dashboard", NULL, NULL, "starts no dashboard, as with CSE_DASHBOARD=0" },
    { "detach", NULL, NULL,
      "returns when training has started, and leaves it running in the background" },
    { "json", NULL, NULL, "prints JSON lines: each logged step and the result" },
    { "quiet", NULL, NULL, "prints only errors and the result" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "start configs/fc_mnist.yaml", "trains, validates and saves a checkpoint" },
    { "start configs/fc_mnist.yaml --num_csx 4 --set optimizer.SGD.lr=0.05",
      "the same with four replicas and another learning rate" },
    { "start gpt2.yaml --weights ./gpt2 --num_steps 50",
      "goes on training the weights of a folder of Hugging Face" },
    { "start gpt2.yaml --launcher slurm --launcher_options=--nodes=4",
      "as a batch job of Slurm on four nodes, which goes on after its time limit" },
    { 0 },
};

static const cse_command_note files[] = {
    { "MODEL_DIR/checkpoint_STEP.mdl", "checkpoints, as HDF5" },
    { "MODEL_DIR/run.db", "the run store: states, metrics, log lines, statistics" },
    { "MODEL_DIR/unfinished.json", "where the run ends, until it has come to its end" },
    { "MODEL_DIR/logs/output.log", "output of a run that was started with --detach" },
    { "MODEL_DIR/logs/batch.log", "output of a run that was started with --launcher slurm" },
    { "COMPILE_DIR", "compiled steps; default MODEL_DIR/compiled" },
    { 0 },
};

const cse_command cse_command_start = {
    .name = "start",
    .group = CSE_GROUP_RUN,
    .summary = "trains the model of a configuration",
    .arguments = "CONFIG.yaml",
    .doc =
        "Continues from the newest checkpoint of model_dir. The same command goes on to the same\n"
        "end until the run has come to it. Ctrl-C once stops with a checkpoint, twice stops at\n"
        "once. Options take precedence over --set, and --set over the file. The dashboard ends\n"
        "with the run; `csengine serve --run MODEL_DIR` shows it again.",
    .options = options,
    .letters = "q=quiet",
    .values = "launcher=local|slurm",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .files = files,
    .computes = true,
    .run = run,
};
