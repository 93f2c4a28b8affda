/* `csengine relay VERSION MILLISECONDS MODEL_DIR`: hands a command from standard input to the run
 * of this host; started by Slurm for csengine on another host (workers/batch/batch_control.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/command.h"
#include "cli/terminal/report.h"
#include "run/control/run_relay.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { MOST_MS = 3600000 };

static cse_status relay(const cse_command_line *line)
{
    if (line->argc != 4)
        return cse_fail(CSE_USAGE, "this command is started by csengine on another host alone");
    if (strcmp(line->argv[1], PACKAGE_VERSION) != 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "the command is of csengine %s, this host has " PACKAGE_VERSION
                        ": install one version on both",
                        line->argv[1]);
    char *end;
    const long wait_ms = strtol(line->argv[2], &end, 10);
    if (*end != '\0' || wait_ms < 1 || wait_ms > MOST_MS)
        return cse_fail(CSE_USAGE, "relay: %s is no number of milliseconds from 1 to %d",
                        line->argv[2], MOST_MS);
    return cse_run_relay(line->argv[3], wait_ms, STDIN_FILENO, STDOUT_FILENO);
}

static int run(const cse_command_line *line)
{
    return cse_report(relay(line));
}

const cse_command cse_command_relay = {
    .name = "relay",
    .summary = "hands a command from another host to the run of this one",
    .arguments = "",
    .hidden = true,
    .run = run,
};
