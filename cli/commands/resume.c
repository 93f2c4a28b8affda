/* `csengine resume`: lets a paused job go on. */
#include "cli/client_command.h"

static int run(const cse_command_line *line)
{
    const char *message = cse_option_value(line, "message");
    json_t *body = message != NULL ? json_pack("{s:s}", "message", message) : NULL;
    return cse_client_order(line, &(cse_job_order){ .command = "resume", .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "message", "TEXT", NULL, "why; kept with the change of state" },
    { 0 },
};

const cse_command cse_command_resume = {
    .name = "resume",
    .summary = "lets a paused job go on",
    .arguments = "JOB|MODEL_DIR",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
