/* `csengine uncordon`: lets a lost host take part again at once. */
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/client/client_command.h"
#include "cli/terminal/report.h"
#include "workers/hosts/host_list.h"

static int run(const cse_command_line *line)
{
    char host[CSE_HOST_NAME_BYTES + 1];
    if (snprintf(host, sizeof host, "+%s", line->arguments[1]) >= (int)sizeof host)
        return cse_report(cse_fail(CSE_USAGE, "uncordon: %.40s...: no host has such a long name",
                                   line->arguments[1]));
    return cse_send_job_command(line,
                                &(cse_job_command){ .name = "scale",
                                                    .job = line->arguments[0],
                                                    .body = json_pack("{s:s}", "hosts", host) });
}

static const cse_option options[] = { CSE_CLIENT_OPTIONS, { 0 } };

const cse_command cse_command_uncordon = {
    .name = "uncordon",
    .group = CSE_GROUP_STEER,
    .summary = "ends the quarantine of a lost host",
    .arguments = "JOB|MODEL_DIR HOST",
    .doc = "A host that was lost is tried again after host_return_s, and after twice as long with "
           "each further loss. This lets it take part again at once, as `csengine scale --hosts "
           "+HOST` does.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .run = run,
};
