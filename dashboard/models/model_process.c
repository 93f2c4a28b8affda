/* The process leads a session of its own, so that a signal from the server's terminal does not
 * reach it. Neither side waits until the other reads: it might wait in turn. */
#include "dashboard/models/model_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"

extern char **environ;

enum { MOST_LINE_BYTES = 64 << 20, PATIENCE_ROUNDS = 100, ROUND_MS = 20 };

static int spawn(char **words, const int ends[2], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int code = posix_spawn(pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

cse_status cse_model_process_start(char **words, cse_model_process *process)
{
    int input[2], output[2];
    *process = (cse_model_process){ .pid = 0 };
    if (pipe2(input, O_CLOEXEC) != 0)
        return cse_fail(CSE_TEMPORARY, "pipe: %s", strerror(errno));
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(input[0]);
        close(input[1]);
        return cse_fail(CSE_TEMPORARY, "pipe: %s", strerror(errno));
    }
    const int code = spawn(words, (int[]){ input[0], output[1] }, &process->pid);
    close(input[0]);
    close(output[1]);
    process->input = input[1];
    process->output = output[0];
    fcntl(process->input, F_SETFL, O_NONBLOCK);
    if (code == 0)
        return CSE_OK;
    process->pid = 0;
    close(process->input);
    close(process->output);
    return cse_fail(CSE_TEMPORARY, "%s cannot be started: %s", words[0], strerror(code));
}

void cse_model_process_stop(cse_model_process *process)
{
    if (process->pid == 0)
        return;
    close(process->input);
    close(process->output);
    pid_t ended = 0;
    for (int i = 0; i < PATIENCE_ROUNDS && ended == 0; i++) {
        ended = waitpid(process->pid, NULL, WNOHANG);
        if (ended == 0)
            cse_sleep_ns(ROUND_MS * INT64_C(1000000));
    }
    if (ended == 0) {
        kill(process->pid, SIGKILL);
        waitpid(process->pid, NULL, 0);
    }
    process->pid = 0;
    cse_text_clear(&process->unsent);
    cse_text_clear(&process->read);
}

void cse_model_process_say(cse_model_process *process, const char *line)
{
    cse_text_add(&process->unsent, "%s\n", line);
}

bool cse_model_process_line(cse_model_process *process, cse_text *line)
{
    const char *end =
        process->read.size > 0 ? memchr(process->read.data, '\n', process->read.size) : NULL;
    if (end == NULL)
        return false;
    const size_t size = (size_t)(end - process->read.data);
    line->size = 0;
    cse_text_add(line, "%s", "");
    cse_text_add_bytes(line, process->read.data, size);
    memmove(process->read.data, end + 1, process->read.size - size - 1);
    process->read.size -= size + 1;
    return true;
}

static bool send_some(cse_model_process *process)
{
    cse_text *text = &process->unsent;
    const ssize_t size = write(process->input, text->data, text->size);
    if (size < 0)
        return errno == EINTR || errno == EAGAIN;
    memmove(text->data, text->data + size, text->size - (size_t)size);
    text->size -= (size_t)size;
    return true;
}

static bool receive_some(cse_model_process *process)
{
    char buffer[65536];
    const ssize_t size = read(process->output, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR)
        return true;
    if (size <= 0 || process->read.size > MOST_LINE_BYTES)
        return false;
    cse_text_add_bytes(&process->read, buffer, (size_t)size);
    return true;
}

bool cse_model_process_wait(cse_model_process *process, int wake, int wait_ms)
{
    uint64_t woken;
    struct pollfd ends[] = {
        { .fd = process->output, .events = POLLIN },
        { .fd = wake, .events = POLLIN },
        { .fd = process->unsent.size > 0 ? process->input : -1, .events = POLLOUT },
    };
    if (poll(ends, sizeof ends / sizeof ends[0], wait_ms) <= 0)
        return true;
    if (ends[1].revents != 0 && read(wake, &woken, sizeof woken) < 0 && errno != EAGAIN)
        return false;
    if (ends[2].revents != 0 && !send_some(process))
        return false;
    return ends[0].revents == 0 || receive_some(process);
}
