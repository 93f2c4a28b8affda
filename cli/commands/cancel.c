/* `csengine cancel`: ends a job after its current step, with a checkpoint. */
#include "cli/arguments/option_values.h"
#include "cli/client/client_command.h"
#include "cli/terminal/report.h"

static int run(const cse_command_line *line)
{
    static const double range[] = { 0, 86400 };
    const char *message = cse_option_value(line, "message"), *save = cse_option_value(line, "save");
    double seconds = -1;
    cse_status status = cse_option_number(line, "grace", range, &seconds);
    if (status != CSE_OK)
        return cse_report(status);
    json_t *body = json_object();
    if (seconds >= 0)
        json_object_set_new(body, "grace_s", json_real(seconds));
    if (save != NULL)
        json_object_set_new(body, "save", json_boolean(cse_option_is_on(line, "save")));
    if (message != NULL)
        json_object_set_new(body, "message", json_string(message));
    return cse_send_job_command(
        line, &(cse_job_command){ .name = "cancel", .job = line->arguments[0], .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "grace", "S", NULL, "seconds after which the job is killed if it has not ended" },
    { "save", NULL, NULL, "writes a checkpoint first; default true" },
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_cancel = {
    .name = "cancel",
    .group = CSE_GROUP_STEER,
    .summary = "ends a job after its current step, with a checkpoint",
    .arguments = "JOB|MODEL_DIR",
    .doc = "--save=false writes no checkpoint. `csengine kill` ends the job at once.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
