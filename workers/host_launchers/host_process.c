/* The client of a command on another host: a child process, three pipes, no waiting.
 *
 * posix_spawn starts it, so nothing of ours runs between fork and exec, and a thread of any kind
 * may start one. It leads a session of its own: the process group is what a signal goes to, and it
 * outlives its starter on purpose, since agents go on without a leader that was killed. A client
 * that ended stays a zombie until `destroy`, so its number is never another process's.
 *
 * Output is cut into lines here, and made printable: what another host sends may end up on a
 * terminal. Each turn reads a bounded part, so that a host that talks without end does not hold the
 * loop. */
#include "workers/host_launchers/host_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/text.h"
#include "workers/hosts/host_list.h"
#include "workers/launchers/launch_environment.h"

enum { TURN_BYTES = 64 << 10 };

typedef struct line_reader {
    int pipe; /* -1: its end was read */
    size_t size;
    char bytes[CSE_HOST_PROCESS_LINE_BYTES];
} line_reader;

struct cse_host_process {
    const cse_host_launcher *launcher;
    char *host, *program;
    void (*on_line)(void *self, const char *host, bool is_error, const char *line);
    void *self;
    pid_t number;
    int descriptor; /* pidfd; -1 on kernels without pidfd_open */
    int input;      /* -1: closed */
    bool input_ends;
    char *waiting; /* bytes for the input */
    size_t waiting_size;
    line_reader output, error;
    bool is_gone;
    cse_exit how;
};

/* [0], [1], [2]: the child's standard input, output, error; each {read, write}. */
typedef struct pipes {
    int ends[3][2];
} pipes;

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_pipes(pipes *made)
{
    for (int i = 0; i < 3; i++)
        for (int end = 0; end < 2; end++)
            close_end(&made->ends[i][end]);
}

/* Our own ends do not block, the child's do. */
static cse_status make_pipes(pipes *made)
{
    for (int i = 0; i < 3; i++)
        made->ends[i][0] = made->ends[i][1] = -1;
    for (int i = 0; i < 3; i++) {
        const int ours = i == 0 ? 1 : 0;
        if (pipe2(made->ends[i], O_CLOEXEC) != 0 ||
            fcntl(made->ends[i][ours], F_SETFL, O_NONBLOCK) != 0) {
            const int error = errno;
            close_pipes(made);
            return cse_fail(CSE_TEMPORARY, "host launcher: no pipe: %s", strerror(error));
        }
    }
    return CSE_OK;
}

/* dup2 of a descriptor to its own number keeps close-on-exec, so a pipe that got one of 0 to 2
 * (this process had closed it) is moved out of the way first. */
static void move_above_standard(pipes *made)
{
    for (int i = 0; i < 3; i++)
        for (int end = 0; end < 2; end++)
            if (made->ends[i][end] <= STDERR_FILENO) {
                const int moved = fcntl(made->ends[i][end], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
                if (moved < 0)
                    continue;
                close(made->ends[i][end]);
                made->ends[i][end] = moved;
            }
}

static int spawn(const char *const *arguments, char **environment, const pipes *made, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, made->ends[0][0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, made->ends[1][1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, made->ends[2][1], STDERR_FILENO);
    /* Libraries open descriptors without close-on-exec; the client must not inherit them. */
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    char **copies;
    memcpy(&copies, &arguments, sizeof copies); /* the call does not write to them */
    const int error = posix_spawnp(child, arguments[0], &actions, &attributes, copies, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static cse_status spawn_failure(const cse_host_launcher *launcher, const char *host,
                                const char *program, int error)
{
    if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE)
        return cse_fail(CSE_TEMPORARY, "host %s: %s cannot be started: %s", host, program,
                        strerror(error));
    return cse_fail(CSE_UNAVAILABLE,
                    "host %s: %s cannot be started: %s; install it, or choose another host "
                    "launcher than %s",
                    host, program, strerror(error), launcher->name);
}

static cse_host_process *process_new(const cse_host_launcher *launcher,
                                     const cse_host_launch *launch, const char *program,
                                     pid_t child, pipes *made)
{
    cse_host_process *p = cse_calloc(1, sizeof *p);
    p->launcher = launcher;
    p->host = cse_strdup(launch->host);
    p->program = cse_strdup(program);
    p->on_line = launch->on_line;
    p->self = launch->self;
    p->number = child;
    p->descriptor = (int)syscall(SYS_pidfd_open, child, 0);
    if (p->descriptor >= 0)
        fcntl(p->descriptor, F_SETFD, FD_CLOEXEC);
    p->input = made->ends[0][1];
    p->output.pipe = made->ends[1][0];
    p->error.pipe = made->ends[2][0];
    made->ends[0][1] = made->ends[1][0] = made->ends[2][0] = -1;
    return p;
}

static cse_status start_in(cse_arena *arena, const cse_host_launcher *launcher,
                           const cse_host_launch *launch, cse_host_process **process)
{
    const char *const *arguments;
    CSE_TRY(launcher->arguments(launch, arena, &arguments));
    pipes made;
    CSE_TRY(make_pipes(&made));
    move_above_standard(&made);
    char **environment = cse_launch_environment(launch->environment);
    pid_t child;
    const int error = spawn(arguments, environment, &made, &child);
    free(environment);
    if (error == 0)
        *process = process_new(launcher, launch, arguments[0], child, &made);
    close_pipes(&made);
    return error == 0 ? CSE_OK : spawn_failure(launcher, launch->host, arguments[0], error);
}

cse_status cse_host_process_start(const cse_host_launcher *launcher, const cse_host_launch *launch,
                                  cse_host_process **process)
{
    CSE_TRY(cse_host_name_check(launch->host, NULL));
    if (launch->command == NULL || launch->command[0] == NULL || launch->command[0][0] != '/')
        return cse_fail(
            CSE_USAGE, "host %s: the program to start there has no absolute path: \"%s\"",
            launch->host,
            launch->command != NULL && launch->command[0] != NULL ? launch->command[0] : "");
    cse_arena *arena = cse_arena_new();
    const cse_status status = start_in(arena, launcher, launch, process);
    cse_arena_destroy(&arena);
    return status;
}

const char *cse_host_process_host(const cse_host_process *process)
{
    return process->host;
}

pid_t cse_host_process_number(const cse_host_process *process)
{
    return process->number;
}

static void forget_waiting(cse_host_process *p)
{
    if (p->waiting != NULL)
        explicit_bzero(p->waiting, p->waiting_size);
    free(p->waiting);
    p->waiting = NULL;
    p->waiting_size = 0;
}

cse_status cse_host_process_send(cse_host_process *process, const void *bytes, size_t size)
{
    if (process->input < 0 || process->input_ends)
        return cse_fail(CSE_UNAVAILABLE, "host %s: the command reads no more input", process->host);
    if (size > CSE_HOST_PROCESS_INPUT_BYTES - process->waiting_size)
        return cse_fail(CSE_TEMPORARY, "host %s: %zu bytes wait for the command already",
                        process->host, process->waiting_size);
    /* Never realloc: it would leave copies of a key behind. */
    char *grown = cse_malloc(process->waiting_size + size + 1);
    if (process->waiting_size > 0)
        memcpy(grown, process->waiting, process->waiting_size);
    memcpy(grown + process->waiting_size, bytes, size);
    const size_t total = process->waiting_size + size;
    forget_waiting(process);
    process->waiting = grown;
    process->waiting_size = total;
    return CSE_OK;
}

void cse_host_process_close_input(cse_host_process *process)
{
    process->input_ends = true;
    if (process->waiting_size == 0)
        close_end(&process->input);
}

int cse_host_process_poll(const cse_host_process *process,
                          struct pollfd items[CSE_HOST_PROCESS_POLLED])
{
    int count = 0;
    if (process->input >= 0) /* without anything to send: for its end alone */
        items[count++] = (struct pollfd){
            .fd = process->input,
            .events = process->waiting_size > 0 ? POLLOUT : 0,
        };
    if (process->output.pipe >= 0)
        items[count++] = (struct pollfd){ .fd = process->output.pipe, .events = POLLIN };
    if (process->error.pipe >= 0)
        items[count++] = (struct pollfd){ .fd = process->error.pipe, .events = POLLIN };
    const bool open = process->output.pipe >= 0 || process->error.pipe >= 0;
    if (process->descriptor >= 0 && (!process->is_gone || open))
        items[count++] = (struct pollfd){ .fd = process->descriptor, .events = POLLIN };
    return count;
}

/* Writes without the SIGPIPE that a command without its input would end this process with. */
static ssize_t write_quietly(int pipe, const char *bytes, size_t size)
{
    sigset_t signals, before, waiting;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    const ssize_t written = write(pipe, bytes, size);
    const int reason = errno;
    if (written < 0 && reason == EPIPE && sigismember(&waiting, SIGPIPE) == 0)
        sigtimedwait(&signals, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return written;
}

static void write_input(cse_host_process *p)
{
    if (p->input < 0)
        return;
    size_t sent = 0;
    bool broken = false;
    while (sent < p->waiting_size) {
        const ssize_t written = write_quietly(p->input, p->waiting + sent, p->waiting_size - sent);
        if (written < 0 && errno == EINTR)
            continue;
        broken = written < 0 && errno != EAGAIN;
        if (written < 0)
            break;
        sent += (size_t)written;
    }
    const size_t left = p->waiting_size - sent;
    if (left == 0 || broken)
        forget_waiting(p);
    else if (sent > 0) {
        memmove(p->waiting, p->waiting + sent, left);
        explicit_bzero(p->waiting + left, sent);
        p->waiting_size = left;
    }
    struct pollfd item = { .fd = p->input };
    broken = broken || (poll(&item, 1, 0) == 1 && (item.revents & (POLLERR | POLLHUP)) != 0);
    if (broken)
        forget_waiting(p);
    if (broken || (p->input_ends && p->waiting_size == 0))
        close_end(&p->input);
}

static void give_line(cse_host_process *p, bool is_error, const char *bytes, size_t size)
{
    char line[CSE_HOST_PROCESS_LINE_BYTES + 1], printable[4 * CSE_HOST_PROCESS_LINE_BYTES + 1];
    while (size > 0 && bytes[size - 1] == '\r')
        size--;
    for (size_t i = 0; i < size; i++) /* neither ends a line here */
        line[i] = bytes[i] == 0 || bytes[i] == '\n' ? '\r' : bytes[i];
    line[size] = 0;
    cse_text_printable(line, printable, sizeof printable);
    if (p->on_line != NULL)
        p->on_line(p->self, p->host, is_error, printable);
}

/* Gives out the whole lines among the first `size` bytes, and a part that fills the reader. */
static void give_lines(cse_host_process *p, line_reader *reader, bool is_error)
{
    size_t from = 0;
    for (;;) {
        const char *end = memchr(reader->bytes + from, '\n', reader->size - from);
        if (end == NULL)
            break;
        const size_t next = (size_t)(end - reader->bytes) + 1;
        give_line(p, is_error, reader->bytes + from, next - 1 - from);
        from = next;
    }
    if (from == 0 && reader->size == sizeof reader->bytes) {
        give_line(p, is_error, reader->bytes, reader->size);
        from = reader->size;
    }
    memmove(reader->bytes, reader->bytes + from, reader->size - from);
    reader->size -= from;
}

static void end_reader(cse_host_process *p, line_reader *reader, bool is_error)
{
    if (reader->size > 0)
        give_line(p, is_error, reader->bytes, reader->size);
    reader->size = 0;
    close_end(&reader->pipe);
}

/* Reads what is there, a bounded part. True when nothing more was there. */
static bool read_lines(cse_host_process *p, line_reader *reader, bool is_error)
{
    for (size_t done = 0; reader->pipe >= 0 && done < TURN_BYTES;) {
        const ssize_t size =
            read(reader->pipe, reader->bytes + reader->size, sizeof reader->bytes - reader->size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return true;
        if (size <= 0) {
            end_reader(p, reader, is_error);
            return true;
        }
        done += (size_t)size;
        reader->size += (size_t)size;
        give_lines(p, reader, is_error);
    }
    return reader->pipe < 0;
}

/* Polls (WNOHANG) or waits for the end of the client, without reaping. */
static bool look(cse_host_process *p, int flags)
{
    if (p->is_gone)
        return true;
    siginfo_t info = { 0 };
    int result;
    do
        result = waitid(P_PID, (id_t)p->number, &info, WEXITED | WNOWAIT | flags);
    while (result != 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0)
        return false;
    const bool exited = result == 0 && info.si_code == CLD_EXITED;
    const bool signalled = result == 0 && !exited;
    /* ECHILD: another caller has reaped it; it is gone, its exit code is lost. */
    p->how = (cse_exit){ .code = exited ? info.si_status : -1,
                         .signal = signalled ? info.si_status : 0 };
    p->is_gone = true;
    return true;
}

void cse_host_process_turn(cse_host_process *process)
{
    const bool gone = look(process, WNOHANG); /* before reading: what it wrote is there then */
    write_input(process);
    const bool output = read_lines(process, &process->output, false);
    const bool error = read_lines(process, &process->error, true);
    if (!gone)
        return;
    /* Processes that it left behind may hold its pipes; they are not waited for. */
    if (output)
        end_reader(process, &process->output, false);
    if (error)
        end_reader(process, &process->error, true);
    forget_waiting(process);
    close_end(&process->input);
}

bool cse_host_process_gone(cse_host_process *process, cse_host_end *end)
{
    if (!process->is_gone || process->output.pipe >= 0 || process->error.pipe >= 0)
        return false;
    *end = (cse_host_end){ .how = process->how,
                           .proved = process->launcher->proves_end(process->how) };
    return true;
}

const char *cse_host_end_text(const cse_host_process *process, cse_host_end end, char *text,
                              size_t size)
{
    char how[128];
    snprintf(text, size, "host %s: %s %s%s", process->host, process->program,
             cse_exit_text(end.how, how, sizeof how),
             end.proved ? "" : "; whether the command still runs is not known");
    return text;
}

void cse_host_process_signal(cse_host_process *process, int signal)
{
    if (!look(process, WNOHANG))
        kill(-process->number, signal); /* not reaped, so the number is still its own */
}

void cse_host_process_destroy(cse_host_process **process)
{
    cse_host_process *p = *process;
    if (p == NULL)
        return;
    kill(-p->number, SIGKILL); /* also what a client that is gone left in its group */
    look(p, 0);
    while (waitpid(p->number, NULL, 0) < 0 && errno == EINTR)
        continue;
    forget_waiting(p);
    close_end(&p->input);
    close_end(&p->output.pipe);
    close_end(&p->error.pipe);
    close_end(&p->descriptor);
    free(p->host);
    free(p->program);
    free(p);
    *process = NULL;
}
