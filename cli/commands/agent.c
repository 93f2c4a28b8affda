/* `csengine agent`: this host's part in a run that another host leads; started by it. */
#include <stddef.h>

#include "cli/arguments/command.h"
#include "run/hosts/follow_leader.h"

static int run(const cse_command_line *line)
{
    (void)line;
    return cse_follow_leader();
}

const cse_command cse_command_agent = {
    .name = "agent",
    .summary = "takes part in a run that another host leads",
    .arguments = "",
    .hidden = true,
    .computes = true,
    .run = run,
};
