/* One table. */
#include "engine/base/run_signals.h"

#include <signal.h>
#include <stddef.h>

static const struct {
    int number;
    cse_run_signal meaning;
} rows[] = {
    { SIGINT, CSE_SIGNAL_END },      { SIGTERM, CSE_SIGNAL_END },
    { SIGHUP, CSE_SIGNAL_END },      { SIGPWR, CSE_SIGNAL_END },
    { SIGUSR1, CSE_SIGNAL_PREEMPT }, { SIGUSR2, CSE_SIGNAL_PREEMPT },
    { SIGALRM, CSE_SIGNAL_NOTHING }, { SIGVTALRM, CSE_SIGNAL_NOTHING },
    { SIGPROF, CSE_SIGNAL_NOTHING }, { SIGIO, CSE_SIGNAL_NOTHING },
    { SIGPIPE, CSE_SIGNAL_NOTHING },
};

void cse_run_signals_each(void (*take)(void *self, int number, cse_run_signal meaning), void *self)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        take(self, rows[i].number, rows[i].meaning);
}

cse_run_signal cse_run_signal_of(int number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == number)
            return rows[i].meaning;
    return CSE_SIGNAL_OTHER;
}

static void ignore(void *self, int number, cse_run_signal meaning)
{
    (void)self;
    (void)meaning;
    if (number != SIGTERM)
        signal(number, SIG_IGN);
}

void cse_run_signals_ignore(void)
{
    cse_run_signals_each(ignore, NULL);
}

static void do_nothing(int number)
{
    (void)number;
}

static void pass_over(void *self, int number, cse_run_signal meaning)
{
    const struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
    (void)self;
    if (meaning == CSE_SIGNAL_NOTHING)
        sigaction(number, &action, NULL);
}

void cse_run_signals_pass_over(void)
{
    cse_run_signals_each(pass_over, NULL);
}
