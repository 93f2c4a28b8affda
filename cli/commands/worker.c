/* `csengine worker`: a process of a running job; started by the coordinator. */
#include <stddef.h>

#include "cli/arguments/command.h"
#include "workers/worker/worker_main.h"

static int run(const cse_command_line *line)
{
    return cse_worker_main(line->argc, line->argv);
}

const cse_command cse_command_worker = {
    .name = "worker",
    .summary = "runs as a worker process of a job",
    .arguments = "",
    .hidden = true,
    .run = run,
};
