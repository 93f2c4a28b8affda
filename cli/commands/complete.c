/* `csengine complete WORD...`: what the scripts of the shells ask when Tab is pressed. It says
 * nothing on stderr and ends within a second, whatever the server does. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/arguments/command.h"
#include "cli/completion/completion.h"

enum { LIMIT_US = 900000 };

/* What was printed before it asked the server stays. */
static void give_up(int number)
{
    (void)number;
    _exit(0);
}

static int run(const cse_command_line *line)
{
    const struct itimerval limit = { .it_value = { .tv_usec = LIMIT_US } };
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    signal(SIGALRM, give_up);
    signal(SIGPIPE, SIG_DFL);
    setitimer(ITIMER_REAL, &limit, NULL);
    if (nothing >= 0)
        dup2(nothing, 2);
    cse_complete(line->argc - 1, line->argv + 1, stdout);
    return 0;
}

const cse_command cse_command_complete = {
    .name = "complete",
    .summary = "prints what can follow on a command line",
    .arguments = "[WORD...]",
    .hidden = true,
    .run = run,
};
