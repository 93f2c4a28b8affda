/* Starting it, and reading what it says. */
#include "engine/base/piped_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/resource_limits.h"

extern char **environ;

/* Whether the same may succeed later, or with other limits. */
static bool is_short(int error)
{
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

static cse_status cannot_start(const char *program, int error)
{
    char limits[200];
    return cse_fail(is_short(error) ? CSE_TEMPORARY : CSE_UNAVAILABLE, "%s cannot be started: %s%s",
                    program, strerror(error),
                    cse_resource_limits_explain(error, limits, sizeof limits));
}

static cse_status start(char *const words[], char *const environment[], const char *errors,
                        pid_t *child, int *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cannot_start(words[0], errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (errors == NULL)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int failure = posix_spawnp(child, words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    if (failure == 0)
        return CSE_OK;
    close(ends[0]);
    return cannot_start(words[0], failure);
}

cse_status cse_piped_program_start(char *const words[], const char *errors, pid_t *child,
                                   int *output)
{
    return start(words, environ, errors, child, output);
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

int cse_piped_program_wait(pid_t child)
{
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

bool cse_piped_program_error(const char *errors, char *message, size_t size)
{
    static const char mark[] = "error: ";
    FILE *file = fopen(errors, "re");
    char line[1024];
    bool found = false;
    message[0] = '\0';
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *error = strstr(line, mark);
        found = error != NULL;
        if (line[0] != '\0')
            snprintf(message, size, "%s", found ? error + strlen(mark) : line);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

cse_status cse_piped_program_run(char *const words[], size_t most, cse_text *text, int *exit_code)
{
    return cse_piped_program_run_in(words, environ, most, text, exit_code);
}

cse_status cse_piped_program_run_in(char *const words[], char *const environment[], size_t most,
                                    cse_text *text, int *exit_code)
{
    pid_t child;
    int output;
    CSE_TRY(start(words, environment, NULL, &child, &output));
    cse_piped_program_read(output, most, text);
    close(output);
    *exit_code = cse_piped_program_wait(child);
    return CSE_OK;
}

/* ---- with an input and a deadline ---- */

#define GRACE_NS INT64_C(1000000000)
#define LOOK_NS INT64_C(5000000)

/* The input as a file in memory: a pipe would have to be filled while the outputs are read. */
static int file_of(const cse_text *input)
{
    size_t done = 0;
    const int file = memfd_create("input", MFD_CLOEXEC);
    while (file >= 0 && input != NULL && done < input->size) {
        const ssize_t written = write(file, input->data + done, input->size - done);
        if (written < 0 && errno != EINTR) {
            close(file);
            return -1;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    if (file >= 0)
        lseek(file, 0, SEEK_SET);
    return file;
}

static int start_group(char *const words[], const int streams[3], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int failure = posix_spawnp(child, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

static void keep(cse_text *text, const char *block, size_t size, size_t most)
{
    const size_t room = text->size < most ? most - text->size : 0;
    cse_text_add_bytes(text, block, size < room ? size : room);
}

/* Until both have ended; false at the deadline. */
static bool read_both(struct pollfd ends[2], const cse_piped_question *q, cse_piped_answer *answer)
{
    cse_text *const texts[] = { &answer->output, &answer->errors };
    char block[4096];
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const int64_t left_ms = (q->deadline_ns - cse_clock_ns()) / 1000000;
        if (left_ms <= 0)
            return false;
        if (poll(ends, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX) <= 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (ends[i].fd < 0 || ends[i].revents == 0)
                continue;
            const ssize_t got = read(ends[i].fd, block, sizeof block);
            if (got > 0)
                keep(texts[i], block, (size_t)got, q->most);
            else if (got == 0 || errno != EINTR)
                ends[i].fd = -1; /* the caller closes the descriptor */
        }
    }
    return true;
}

/* False: it has not ended by then. */
static bool ends_by(pid_t child, int64_t deadline_ns, int *how)
{
    for (;;) {
        const pid_t ended = waitpid(child, how, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (cse_clock_ns() >= deadline_ns)
            return false;
        cse_sleep_ns(LOOK_NS);
    }
}

static int wait_for_group(pid_t child, int64_t deadline_ns, cse_piped_answer *answer)
{
    int how = 0;
    if (!answer->late && ends_by(child, deadline_ns, &how))
        return how;
    answer->late = true;
    kill(-child, SIGTERM);
    if (!ends_by(child, cse_clock_ns() + GRACE_NS, &how)) {
        kill(-child, SIGKILL);
        while (waitpid(child, &how, 0) < 0 && errno == EINTR)
            continue;
    }
    return how;
}

cse_status cse_piped_program_ask(const cse_piped_question *q, cse_piped_answer *answer)
{
    int ends[2][2] = { { -1, -1 }, { -1, -1 } };
    pid_t child;
    *answer = (cse_piped_answer){ .exit_code = -1 };
    cse_text_add(&answer->output, "%s", ""); /* both are texts in any case */
    cse_text_add(&answer->errors, "%s", "");
    const int input = file_of(q->input);
    int failure = 0;
    if (input < 0 || pipe2(ends[0], O_CLOEXEC) != 0 || pipe2(ends[1], O_CLOEXEC) != 0)
        failure = errno;
    if (failure == 0)
        failure = start_group(q->words, (const int[]){ input, ends[0][1], ends[1][1] }, &child);
    for (int i = 0; i < 2; i++)
        if (ends[i][1] >= 0)
            close(ends[i][1]);
    if (input >= 0)
        close(input);
    if (failure == 0) {
        struct pollfd polled[] = { { .fd = ends[0][0], .events = POLLIN },
                                   { .fd = ends[1][0], .events = POLLIN } };
        answer->late = !read_both(polled, q, answer);
        const int how = wait_for_group(child, q->deadline_ns, answer);
        answer->exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i][0] >= 0)
            close(ends[i][0]);
    if (failure == 0)
        return CSE_OK;
    cse_text_clear(&answer->output);
    cse_text_clear(&answer->errors);
    return cannot_start(q->words[0], failure);
}
