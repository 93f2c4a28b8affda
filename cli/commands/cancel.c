/* `csengine cancel`: ends a job after the step in flight, with a checkpoint. */
#include <math.h>
#include <stdlib.h>

#include "cli/client_command.h"
#include "cli/report.h"

static int run(const cse_command_line *line)
{
    json_t *body = json_object();
    const char *grace = cse_option_value(line, "grace"), *save = cse_option_value(line, "save");
    const char *message = cse_option_value(line, "message");
    if (grace != NULL) {
        char *end = NULL;
        double seconds = strtod(grace, &end);
        if (end == grace || *end != '\0' || !(seconds >= 0 && seconds <= 86400)) {
            json_decref(body);
            return cse_report(cse_fail(CSE_USAGE,
                                       "cancel: --grace %s: a number of seconds from 0 to 86400 "
                                       "is accepted",
                                       grace));
        }
        json_object_set_new(body, "grace_s", json_real(seconds));
    }
    if (save != NULL)
        json_object_set_new(body, "save", json_boolean(cse_option_is_on(line, "save")));
    if (message != NULL)
        json_object_set_new(body, "message", json_string(message));
    return cse_send_job_command(
        line, &(cse_job_command){ .name = "cancel", .job = line->arguments[0], .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "grace", "S", NULL, "seconds until it is killed" },
    { "save", NULL, NULL, "whether it writes a checkpoint first; on by default" },
    CSE_MESSAGE_OPTION,
    { 0 },
};

const cse_command cse_command_cancel = {
    .name = "cancel",
    .summary = "ends a job after the step in flight, with a checkpoint",
    .arguments = "JOB|MODEL_DIR",
    .doc = "--save=false ends it without a checkpoint. kill ends it at once.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
