/* One flag for the process. */
#include "cli/terminal/stop_signal.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int number)
{
    came = number == SIGTERM || came > 0 ? 2 : 1;
}

void cse_stop_signal_note(void)
{
    const struct sigaction action = { .sa_handler = note };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cse_stop_signal_came(void)
{
    return came != 0;
}

int cse_stop_signal_count(void)
{
    return came;
}

void cse_stop_signal_forget(void)
{
    came = 0;
}
