/* `csengine scale`: changes the number of replicas of a running job. */
#include "cli/client_command.h"
#include "cli/option_values.h"
#include "cli/report.h"

static int run(const cse_command_line *line)
{
    static const int64_t range[] = { 1, 1024 };
    int64_t count = 0;
    cse_status status = cse_option_integer(line, "num_csx", range, &count);
    if (status == CSE_OK && count == 0)
        status = cse_fail(CSE_USAGE, "scale: --num_csx N is missing");
    if (status != CSE_OK)
        return cse_report(status);
    json_t *body = json_pack("{s:I}", "num_csx", (json_int_t)count);
    return cse_send_job_command(
        line, &(cse_job_command){ .name = "scale", .job = line->arguments[0], .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "num_csx", "N", NULL, "number of replicas that share each step" },
    { 0 },
};

const cse_command cse_command_scale = {
    .name = "scale",
    .group = CSE_GROUP_STEER,
    .summary = "changes the number of replicas of a running job",
    .arguments = "JOB|MODEL_DIR --num_csx N",
    .doc = "Up to the number that the run began with, replicas leave or come back from the next\n"
           "step on. With more than that, a job of `csengine serve` ends with a checkpoint and\n"
           "goes on from it; a run that was started by hand is to be started again. The trained\n"
           "weights do not depend on the number of replicas.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
