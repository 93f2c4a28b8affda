/* `csengine agent`: this host's part in a run that another host leads; started by it. */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/arguments/command.h"
#include "cli/terminal/report.h"
#include "run/hosts/follow_leader.h"
#include "run/hosts/host_log.h"

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

static bool stop_requested(void *self)
{
    (void)self;
    return told_to_end != 0;
}

static int run(const cse_command_line *line)
{
    (void)line;
    const struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    cse_host_log_begin();
    return cse_report(cse_follow_leader(
        &(cse_follower){ .input = STDIN_FILENO, .stop_requested = stop_requested }));
}

const cse_command cse_command_agent = {
    .name = "agent",
    .summary = "takes part in a run that another host leads",
    .arguments = "",
    .hidden = true,
    .computes = true,
    .run = run,
};
