/* A socket, memory, posix_spawn, and poll with a limit. */
#include "dataloader/programs/answering_program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataloader/programs/answer_memory.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"

extern char **environ;

enum { LENGTH_BYTES = 8, GRACE_MS = 1000, MEMORY_DESCRIPTOR = 3 };

/* Of a length: the answer lies in the memory. */
static const uint64_t in_memory = (uint64_t)1 << 63;
static char memory_variable[] = "CSENGINE_ANSWER_MEMORY=3";

struct cse_answering_program {
    const char *const *arguments;
    int timeout_seconds;
    pid_t process; /* 0: it does not run */
    int socket;    /* its standard input and output */
    cse_answer_memory memory;
    unsigned char *answer;
    size_t capacity;
    char end[80]; /* how it ended */
};

cse_answering_program *cse_answering_program_new(const char *const *arguments, int timeout_seconds)
{
    cse_answering_program *program = cse_calloc(1, sizeof *program);
    program->arguments = arguments;
    program->timeout_seconds = timeout_seconds;
    program->socket = -1;
    program->memory.file = -1;
    return program;
}

static void note_end(cse_answering_program *p, int status)
{
    if (WIFSIGNALED(status))
        snprintf(p->end, sizeof p->end, "it was ended by signal %d", WTERMSIG(status));
    else
        snprintf(p->end, sizeof p->end, "it ended with exit code %d", WEXITSTATUS(status));
}

static void stop(cse_answering_program *p, bool at_once)
{
    int status = 0;
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
    if (p->process == 0) {
        cse_answer_memory_clear(&p->memory);
        return;
    }
    pid_t ended = 0;
    for (int waited = 0; waited < GRACE_MS && !at_once && ended == 0; waited += 10) {
        ended = waitpid(p->process, &status, WNOHANG);
        if (ended == 0)
            poll(NULL, 0, 10);
    }
    if (ended == 0) {
        kill(p->process, SIGKILL);
        ended = waitpid(p->process, &status, 0);
    }
    if (ended == p->process)
        note_end(p, status);
    p->process = 0;
    cse_answer_memory_clear(&p->memory);
}

/* The variables of this process, and the one that says which descriptor the memory is. The caller
 * frees the list alone. */
static char **make_environment(const cse_answer_memory *memory)
{
    const size_t name = strcspn(memory_variable, "=") + 1;
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **list = cse_calloc(count + 2, sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], memory_variable, name) != 0)
            list[kept++] = environ[i];
    if (memory->file >= 0)
        list[kept] = memory_variable;
    return list;
}

void cse_answering_program_close(cse_answering_program **program)
{
    if (*program == NULL)
        return;
    stop(*program, false);
    free((*program)->answer);
    free(*program);
    *program = NULL;
}

/* A socket in place of two pipes: writing to one whose reader is gone raises no signal. */
static cse_status start(cse_answering_program *p)
{
    int pair[2];
    sigset_t none, usual;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cse_fail(CSE_TEMPORARY, "%s: cannot make a connection: %s", p->arguments[0],
                        strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    cse_answer_memory_make(&p->memory);
    if (p->memory.file >= 0)
        posix_spawn_file_actions_adddup2(&actions, p->memory.file, MEMORY_DESCRIPTOR);
    char **environment = make_environment(&p->memory);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(&p->process, p->arguments[0], &actions, &attributes,
                                   (char *const *)(uintptr_t)p->arguments, environment);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    p->socket = pair[0];
    if (error == 0)
        return CSE_OK;
    p->process = 0;
    close(p->socket);
    p->socket = -1;
    return cse_fail(error == ENOENT ? CSE_NO_INPUT : CSE_PERMISSION, "%s: cannot be started: %s",
                    p->arguments[0], strerror(error));
}

static void send_all(cse_answering_program *p, const char *line)
{
    for (size_t left = strlen(line); left > 0;) {
        const ssize_t sent = send(p->socket, line, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        line += sent;
        left -= (size_t)sent;
    }
}

/* Whether all of it came within the time that is left. */
static bool receive_all(cse_answering_program *p, unsigned char *bytes, size_t size, int64_t end_ns)
{
    struct pollfd ready = { .fd = p->socket, .events = POLLIN };
    while (size > 0) {
        const int64_t left_ms = (end_ns - cse_clock_ns()) / 1000000;
        if (left_ms <= 0) {
            snprintf(p->end, sizeof p->end, "it was silent for %d seconds", p->timeout_seconds);
            return false;
        }
        if (poll(&ready, 1, left_ms < 60000 ? (int)left_ms : 60000) <= 0)
            continue;
        const ssize_t got = recv(p->socket, bytes, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

static cse_status too_long(const cse_answering_program *p, uint64_t length)
{
    return cse_fail(CSE_DATA,
                    "%s: an answer of %" PRIu64 " bytes: accepted are 1 to %" PRIu64
                    "; does it print something else on its standard output?",
                    p->arguments[0], length, CSE_ANSWER_MOST_BYTES);
}

/* CSE_UNAVAILABLE: no answer came. */
static cse_status ask_once(cse_answering_program *p, const char *line, const unsigned char **answer,
                           size_t *size)
{
    uint64_t length = 0;
    const int64_t end_ns = cse_clock_ns() + p->timeout_seconds * INT64_C(1000000000);
    p->end[0] = '\0';
    if (p->process == 0)
        CSE_TRY(start(p));
    /* A program that ends before it reads the request may have printed something, which says why.
     */
    send_all(p, line);
    if (!receive_all(p, (unsigned char *)&length, LENGTH_BYTES, end_ns))
        return CSE_UNAVAILABLE;
    const bool is_in_memory = (length & in_memory) != 0;
    length &= ~in_memory;
    if (length == 0 || length > CSE_ANSWER_MOST_BYTES)
        return too_long(p, length);
    *size = (size_t)length;
    if (is_in_memory) {
        *answer = cse_answer_memory_read(&p->memory, *size);
        return *answer != NULL
                   ? CSE_OK
                   : cse_fail(CSE_DATA,
                              "%s: an answer of %" PRIu64 " bytes in memory that is smaller",
                              p->arguments[0], length);
    }
    if (length > p->capacity) {
        p->capacity = length;
        free(p->answer);
        p->answer = malloc(length);
        if (p->answer == NULL) {
            p->capacity = 0;
            return cse_fail(CSE_TEMPORARY, "%s: no memory for an answer of %" PRIu64 " bytes",
                            p->arguments[0], length);
        }
    }
    *answer = p->answer;
    return receive_all(p, p->answer, *size, end_ns) ? CSE_OK : CSE_UNAVAILABLE;
}

cse_status cse_answering_program_ask(cse_answering_program *p, const char *line,
                                     const unsigned char **answer, size_t *size)
{
    for (int tries = 0; tries < 2; tries++) {
        cse_status status = ask_once(p, line, answer, size);
        if (status == CSE_OK)
            return CSE_OK;
        const bool was_silent = p->end[0] != '\0';
        stop(p, was_silent || status != CSE_UNAVAILABLE);
        if (was_silent)
            snprintf(p->end, sizeof p->end, "it was silent for %d seconds", p->timeout_seconds);
        if (status != CSE_UNAVAILABLE)
            return status;
    }
    return cse_fail(CSE_DATA, "%s: no answer to %.*s: %s, twice", p->arguments[0],
                    (int)strcspn(line, "\n"), line, p->end);
}
