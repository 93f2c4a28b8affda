/* `csengine scale`: changes the number of replicas of a running job. */
#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/client/client_command.h"
#include "cli/terminal/report.h"

static int run(const cse_command_line *line)
{
    static const int64_t range[] = { 1, 1024 };
    int64_t count = 0;
    const char *hosts = cse_option_value(line, "hosts");
    cse_status status = cse_option_integer(line, "num_csx", range, &count);
    if (status == CSE_OK && (count == 0) == (hosts == NULL))
        status = cse_fail(CSE_USAGE, "scale: give either --num_csx N or --hosts LIST");
    if (status != CSE_OK)
        return cse_report(status);
    json_t *body = hosts != NULL ? json_pack("{s:s}", "hosts", hosts)
                                 : json_pack("{s:I}", "num_csx", (json_int_t)count);
    return cse_send_job_command(
        line, &(cse_job_command){ .name = "scale", .job = line->arguments[0], .body = body });
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "num_csx", "N", NULL, "number of replicas that share each step" },
    { "hosts", "LIST", NULL,
      "hosts that share each step, as in n1,n2 or n[1-4]; +NAME adds one, -NAME takes one away" },
    { 0 },
};

const cse_command cse_command_scale = {
    .name = "scale",
    .group = CSE_GROUP_STEER,
    .summary = "changes the number of replicas, or the hosts, of a running job",
    .arguments = "JOB|MODEL_DIR --num_csx N | --hosts LIST",
    .doc =
        "Up to the number that the run began with, replicas leave or come back from the next\n"
        "step on. With more than that, a job of `csengine serve` ends with a checkpoint and\n"
        "goes on from it; a run that was started by hand is to be started again.\n"
        "Other hosts take part from the next step on: the run stops, saves it, and goes on with\n"
        "them by itself. A host that is added needs what a host of the run needs; one that does\n"
        "not come is left out. The leading host stays.\n"
        "The trained weights depend neither on the number of replicas nor on the hosts.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
