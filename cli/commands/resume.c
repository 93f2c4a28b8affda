/* `csengine resume`: continues a paused job. */
#include "cli/client/client_command.h"

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_resume = {
    .name = "resume",
    .group = CSE_GROUP_STEER,
    .summary = "continues a paused job",
    .arguments = "JOB|MODEL_DIR",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = cse_run_job_command,
};
