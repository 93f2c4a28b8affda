/* `csengine pause`: pauses a running job after its current step. */
#include "cli/client/client_command.h"

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_pause = {
    .name = "pause",
    .group = CSE_GROUP_STEER,
    .summary = "pauses a running job after its current step",
    .arguments = "JOB|MODEL_DIR",
    .doc = "The training state stays in memory; `csengine resume` continues with the same bits.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = cse_run_job_command,
};
