/* `csengine start`: train, and validate if there is data for it. */
#include <stddef.h>

#include "cli/arguments/confine.h"
#include "cli/runs/batch_start.h"
#include "cli/runs/dashboard_child.h"
#include "cli/runs/job.h"
#include "cli/runs/start_job.h"
#include "cli/terminal/report.h"
#include "engine/base/confinement.h"

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
                                     : cse_start_job(line, &job);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,   CSE_RUN_OPTIONS,
    CSE_HOST_OPTIONS,  CSE_LAUNCHER_OPTIONS,
    CSE_LOOP_OPTIONS,  { "weights", "PATH", "fit.weights", NULL },
    CSE_ADDED_OPTIONS, CSE_CONFINE_OPTIONS,
    CSE_START_OPTIONS, { 0 },
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
