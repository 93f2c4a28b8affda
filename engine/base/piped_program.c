/* Starting it. */
#include "engine/base/piped_program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
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
