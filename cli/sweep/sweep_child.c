/* Its output is read and dropped, so that it never waits. */
#include "cli/sweep/sweep_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
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
    static const char mark[] = "error: ";
    FILE *file = fopen(path, "re");
    char line[1024], message[sizeof line] = "it ended without a message";
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *error = strstr(line, mark);
        found = error != NULL;
        if (line[0] != '\0')
            snprintf(message, sizeof message, "%s", found ? error + strlen(mark) : line);
    }
    if (file != NULL)
        fclose(file);
    return cse_arena_string(arena, message);
}

int cse_sweep_child_run(const char *const *words, const char *errors, cse_status *status)
{
    pid_t child = -1;
    int output = -1, state = 0;
    cse_text nothing = { 0 };
    *status = cse_piped_program_start((char *const *)(uintptr_t)words, errors, &child, &output);
    if (*status != CSE_OK)
        return 0;
    running_child = child;
    if (interrupted) /* before there was a child to pass it on to */
        kill(child, SIGTERM);
    cse_piped_program_read(output, 0, &nothing);
    close(output);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    running_child = 0;
    cse_text_clear(&nothing);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}
