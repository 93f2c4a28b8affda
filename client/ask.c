/* One process a question: they are few, and none is left behind. What the program writes to its
 * standard error is kept, since its last line says why it failed. */
#include "client/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/piped_program.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "run/session/session.h"
#include "workers/control/process.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { MOST_WORDS = 8, ERROR_BYTES = 4096 };

extern char **environ;

cse_status cse_client_memory_new(const cse_text *content, int *descriptor)
{
    *descriptor = memfd_create("csengine-question", MFD_CLOEXEC);
    if (*descriptor >= 0 && cse_write_at(*descriptor, content->data, content->size, 0) == 0)
        return CSE_OK;
    cse_fail(CSE_TEMPORARY, "no memory to ask the program csengine: %s", strerror(errno));
    if (*descriptor >= 0)
        close(*descriptor);
    return CSE_TEMPORARY;
}

/* Signals that this process blocks, ignores or handles are the program's in their usual way. */
static void set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static cse_status start(const char *program, char *const words[], const int ends[3], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_signals(&attributes);
    if (ends[0] < 0)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = ends[0] < 0 ? 1 : 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, ends[i], i);
    const int failure = posix_spawn(child, program, &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failure == 0)
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s cannot be started: %s; give the path of csengine in CSENGINE_EXECUTABLE",
                    program, strerror(failure));
}

/* "STATUS MESSAGE" is the last line of a program that failed (cli/commands/answer.c). */
static cse_status tell(const char *program, const char *what, int how, int errors)
{
    char text[ERROR_BYTES + 1] = "";
    const off_t size = lseek(errors, 0, SEEK_END);
    const off_t from = size > ERROR_BYTES ? size - ERROR_BYTES : 0;
    const int64_t got = cse_read_at(errors, text, ERROR_BYTES, (uint64_t)from);
    int64_t length = got > 0 ? got : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    const char *line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    char *end;
    const long status = strtol(line, &end, 10);
    if (WIFEXITED(how) && end > line && *end == ' ' && status > CSE_OK &&
        cse_status_exit_code((cse_status)status) == WEXITSTATUS(how))
        return cse_fail((cse_status)status, "%s", end + 1);
    if (WIFEXITED(how))
        return cse_fail(CSE_UNAVAILABLE,
                        "%s: it was asked for %s and ended with exit code %d: %s; is it of this "
                        "version, " PACKAGE_VERSION "?",
                        program, what, WEXITSTATUS(how), line);
    return cse_fail(CSE_UNAVAILABLE, "%s: it was asked for %s and was ended by signal %d", program,
                    what, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
}

static cse_status wait_for(const char *program, const char *what, pid_t child, int errors)
{
    int how;
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR)
            return cse_fail(CSE_UNAVAILABLE,
                            "%s: it was asked for %s, and its end was not seen: %s; do not ignore "
                            "SIGCHLD",
                            program, what, strerror(errno));
    return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? CSE_OK : tell(program, what, how, errors);
}

static cse_status find_program(char path[PATH_MAX])
{
    const cse_session *session = cse_session_open_view("the client library");
    return cse_worker_executable(session != NULL ? session->opened.cluster.worker_executable : NULL,
                                 path, PATH_MAX);
}

/* `pipe_ends` are -1 where the output is another file. */
static cse_status run(const char *const words[], int input, int output, int pipe_ends[2],
                      cse_text *answer)
{
    char program[PATH_MAX];
    char *arguments[MOST_WORDS] = { (char[]){ "csengine" }, (char[]){ "answer" },
                                    (char[]){ PACKAGE_VERSION } };
    pid_t child;
    CSE_TRY(find_program(program));
    for (int i = 0; words[i] != NULL && i + 4 < MOST_WORDS; i++)
        arguments[i + 3] = (char *)(uintptr_t)words[i];
    const int errors = memfd_create("csengine-errors", MFD_CLOEXEC);
    if (errors < 0)
        return cse_fail(CSE_TEMPORARY, "no memory to ask the program csengine: %s",
                        strerror(errno));
    const int ends[3] = { input, output >= 0 ? output : pipe_ends[1], errors };
    cse_status status = start(program, arguments, ends, &child);
    if (status == CSE_OK) {
        if (output < 0) {
            close(pipe_ends[1]);
            pipe_ends[1] = -1;
            cse_piped_program_read(pipe_ends[0], SIZE_MAX, answer);
        }
        status = wait_for(program, words[0], child, errors);
    }
    close(errors);
    return status;
}

cse_status cse_client_ask(const char *const words[], int input, int output, cse_text *answer)
{
    int ends[2] = { -1, -1 };
    if (output < 0 && pipe2(ends, O_CLOEXEC) != 0)
        return cse_fail(CSE_TEMPORARY, "a pipe cannot be made: %s", strerror(errno));
    cse_status status = run(words, input, output, ends, answer);
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return status;
}
