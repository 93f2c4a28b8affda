/* `csengine start`: train, and validate if there is data for it. */
#include <stddef.h>

#include "cli/job.h"
#include "cli/report.h"

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, CSE_JOB_TRAIN, &job);
    job.settings.run_store = true;
    int exit_code = status == CSE_OK ? cse_job_run_kept(line, &job) : cse_report(status);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_LOOP_OPTIONS,
    { "json", NULL, NULL, "JSON lines on stdout: each logged step, and the end" },
    { 0 },
};

const cse_command cse_command_start = {
    .name = "start",
    .summary = "trains the model of a configuration",
    .arguments = "CONFIG.yaml",
    .doc = "Goes on from the newest checkpoint of model_dir. Ctrl-C once stops with a checkpoint,\n"
           "twice stops at once. Options win over --set, which wins over the file.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
