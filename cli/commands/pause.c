/* `csengine pause`: holds a running job after the step in flight. */
#include "cli/client_command.h"

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_pause = {
    .name = "pause",
    .summary = "holds a running job after the step in flight",
    .arguments = "JOB|MODEL_DIR",
    .doc = "The states stay in memory; resume goes on with the same bits.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = cse_run_job_command,
};
