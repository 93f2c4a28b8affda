/* `csengine kill`: ends a job at once, without a checkpoint. */
#include "cli/client/client_command.h"

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_kill = {
    .name = "kill",
    .group = CSE_GROUP_STEER,
    .summary = "ends a job at once, without a checkpoint",
    .arguments = "JOB|MODEL_DIR",
    .doc = "`csengine cancel` writes a checkpoint first.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = cse_run_job_command,
};
