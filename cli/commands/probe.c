/* `csengine probe`: measures links for `csengine doctor --hosts`; started by it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/arguments/command.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "run/hosts/probe_host.h"

static void say(const json_t *answer)
{
    fputs(CSE_PROBE_MARK, stdout);
    cse_json_print(answer);
    fflush(stdout);
}

static int run(const cse_command_line *line)
{
    (void)line;
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return cse_report(cse_probe_host(&(cse_prober){ .input = STDIN_FILENO, .say = say }));
}

const cse_command cse_command_probe = {
    .name = "probe",
    .summary = "measures the links of this host for csengine doctor",
    .arguments = "",
    .hidden = true,
    .run = run,
};
