/* `csengine probe`: measures links for `csengine doctor --hosts`; started by it. */
#include <stddef.h>

#include "cli/arguments/command.h"
#include "run/hosts/probe_host.h"

static int run(const cse_command_line *line)
{
    (void)line;
    return cse_probe_host();
}

const cse_command cse_command_probe = {
    .name = "probe",
    .summary = "measures the links of this host for csengine doctor",
    .arguments = "",
    .hidden = true,
    .run = run,
};
