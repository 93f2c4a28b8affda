/* Starting it, and reading what it says. */
#include "engine/base/piped_program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

cse_status cse_piped_program_start(char *const words[], const char *errors, pid_t *child,
                                   int *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cse_fail(CSE_TEMPORARY, "a pipe cannot be made: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (errors == NULL)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int failure = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    if (failure == 0)
        return CSE_OK;
    close(ends[0]);
    return cse_fail(CSE_UNAVAILABLE, "%s cannot be started: %s", words[0], strerror(failure));
}

void cse_piped_program_read(int output, size_t most, cse_text *text)
{
    char block[4096];
    for (;;) {
        const ssize_t got = read(output, block, sizeof block);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        const size_t size = got > 0 ? (size_t)got : 0;
        cse_text_add_bytes(text, block, size < most ? size : most);
        most -= size < most ? size : most;
    }
}

cse_status cse_piped_program_run(char *const words[], size_t most, cse_text *text, int *exit_code)
{
    pid_t child;
    int output, how = 0;
    CSE_TRY(cse_piped_program_start(words, NULL, &child, &output));
    cse_piped_program_read(output, most, text);
    close(output);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    *exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return CSE_OK;
}
