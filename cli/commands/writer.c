/* `csengine writer`: writes one checkpoint that a run has left in shared memory, while the run
 * trains on; started by the run's coordinator.
 *
 * It gives way to the processes that train: what it needs of a processor, it takes from those that
 * wait. The run waits for it at its next checkpoint. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/command.h"
#include "engine/formats/checkpoint/shared_checkpoint.h"

enum { NICENESS = 10, USAGE = 64 };

static int run(const cse_command_line *line)
{
    char *end = NULL;
    const long descriptor = line->argc == 2 ? strtol(line->argv[1], &end, 10) : -1;
    if (descriptor < 3 || end == NULL || *end != '\0' || fcntl((int)descriptor, F_GETFD) < 0) {
        fprintf(stderr,
                "csengine writer: one argument, an open descriptor, is needed; this command "
                "is started by a run alone\n");
        return USAGE;
    }
    setpriority(PRIO_PROCESS, 0, NICENESS);
    return cse_shared_checkpoint_write((int)descriptor);
}

const cse_command cse_command_writer = {
    .name = "writer",
    .summary = "writes a checkpoint of a run that goes on",
    .arguments = "",
    .hidden = true,
    .run = run,
};
