/* Its output is read and dropped, so that it never waits. */
#include "cli/sweep/sweep_child.h"

#include <signal.h>
#include <unistd.h>

#include "engine/base/piped_program.h"

static volatile sig_atomic_t interrupted, running_child;

/* A terminal sends SIGINT to the child as well, so only other signals are passed on. */
static void note_interrupt(int number)
{
    interrupted = 1;
    if (running_child > 0 && number != SIGINT)
        kill((pid_t)running_child, SIGTERM);
}

void cse_sweep_take_signals(void)
{
    static const int handled[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = note_interrupt };
    for (int i = 0; i < 3; i++)
        sigaction(handled[i], &action, NULL);
}

bool cse_sweep_is_interrupted(void)
{
    return interrupted != 0;
}

const char *cse_sweep_child_message(const char *path, cse_arena *arena)
{
    char message[1024];
    cse_piped_program_error(path, message, sizeof message);
    return cse_arena_string(arena, message[0] != '\0' ? message : "it ended without a message");
}

int cse_sweep_child_run(const char *const *words, const char *errors, cse_status *status)
{
    pid_t child = -1;
    int output = -1;
    cse_text nothing = { 0 };
    *status = cse_piped_program_start((char *const *)(uintptr_t)words, errors, &child, &output);
    if (*status != CSE_OK)
        return 0;
    running_child = child;
    if (interrupted) /* before there was a child to pass it on to */
        kill(child, SIGTERM);
    cse_piped_program_read(output, 0, &nothing);
    close(output);
    const int exit_code = cse_piped_program_wait(child);
    running_child = 0;
    cse_text_clear(&nothing);
    return exit_code;
}
