/* `csengine scale`: changes the number of replicas of a running job. */
#include <stdlib.h>

#include "cli/client_command.h"
#include "cli/report.h"

static int run(const cse_command_line *line)
{
    const char *given = cse_option_value(line, "num_csx");
    char *end = NULL;
    long count = given != NULL ? strtol(given, &end, 10) : 0;
    if (given == NULL || end == given || *end != '\0' || count < 1 || count > 1024)
        return cse_report(cse_fail(CSE_USAGE, "scale: --num_csx N is wanted, N from 1 to 1024%s%s",
                                   given != NULL ? ", not " : "", given != NULL ? given : ""));
    json_t *body = json_pack("{s:I}", "num_csx", (json_int_t)count);
    return cse_send_job_command(
        line, &(cse_job_command){ .name = "scale", .job = line->arguments[0], .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "num_csx", "N", NULL, "replicas from the next step on" },
    { 0 },
};

const cse_command cse_command_scale = {
    .name = "scale",
    .summary = "changes the number of replicas of a running job",
    .arguments = "JOB|MODEL_DIR --num_csx N",
    .doc = "The result does not depend on it.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
