/* `csengine eval`: loss and metrics over the validation data. */
#include <stddef.h>

#include "cli/job.h"

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, CSE_JOB_EVALUATE, &job);
    int exit_code =
        status == CSE_OK ? cse_job_run_supervised(line, &job) : cse_job_report(line, &job, status);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_RUN_OPTIONS,
    { "eval_steps", "N", "loop.eval_steps", NULL },
    { "log_steps", "N", "logging.log_steps", NULL },
    { "compile_only", NULL, "backend.compile_only", NULL },
    { "validate_only", NULL, "backend.validate_only", NULL },
    { "json", NULL, NULL, "prints JSON lines: each logged step and the result" },
    { "quiet", NULL, NULL, "prints only errors and the result" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "eval configs/fc_mnist.yaml --checkpoint_path model_dir/fc_mnist/checkpoint_1872.mdl",
      "loss and accuracy of one checkpoint" },
    { 0 },
};

const cse_command cse_command_eval = {
    .name = "eval",
    .group = CSE_GROUP_RUN,
    .summary = "evaluates a checkpoint on the validation data",
    .arguments = "CONFIG.yaml",
    .doc = "Takes --checkpoint_path, or else the newest checkpoint of model_dir.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .run = run,
};
