/* `csengine kill`: ends a job at once, without a checkpoint. */
#include "cli/client_command.h"

static int run(const cse_command_line *line)
{
    const char *message = cse_option_value(line, "message");
    json_t *body = message != NULL ? json_pack("{s:s}", "message", message) : NULL;
    return cse_client_order(line, &(cse_job_order){ .command = "kill", .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "message", "TEXT", NULL, "why; kept with the change of state" },
    { 0 },
};

const cse_command cse_command_kill = {
    .name = "kill",
    .summary = "ends a job at once, without a checkpoint",
    .arguments = "JOB|MODEL_DIR",
    .doc = "cancel ends it after a checkpoint.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
