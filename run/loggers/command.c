/* CommandLogger: hands each scalar to a program of the user, as a line of JSON on its standard
 * input.
 *
 * Training never waits for the program. The pipe between them is the queue: a line is written whole
 * (it is shorter than PIPE_BUF) or, where the pipe is full, dropped and counted; how many were
 * dropped is told at the end. A program that ends early costs one warning. At the end of the run
 * the program gets the end of its input and some seconds to finish; then it is ended. It is run
 * directly, without a shell, ends with the run's process, and writes to the run's standard error.
 *
 * It runs code: a job that came over the API may name only a program of a folder that the operator
 * has allowed for programs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"
#include "run/loggers/json_line.h"

enum { QUEUE_BYTES = 1 << 20, END_MS = 5000, TURN_MS = 10 };

typedef struct command {
    const char *program;
    pid_t child;
    int pipe; /* to its standard input; -1: it reads no more */
    int64_t dropped;
} command;

/* Writes without the SIGPIPE that a program without a reader would end this process with. */
static ssize_t write_quietly(int pipe, const char *line, size_t size)
{
    sigset_t pipes, before, waiting;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &pipes, &before);
    ssize_t written = write(pipe, line, size);
    const int reason = errno;
    if (written < 0 && reason == EPIPE && sigismember(&waiting, SIGPIPE) == 0)
        sigtimedwait(&pipes, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return written;
}

_Static_assert(CSE_JSON_LINE_BYTES <= PIPE_BUF, "a line must be written whole, or not at all");

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    command *c = logger;
    char line[CSE_JSON_LINE_BYTES];
    const size_t size = cse_json_line(scalar, line);
    ssize_t written;
    do
        written = write_quietly(c->pipe, line, size);
    while (written < 0 && errno == EINTR);
    if (written >= 0)
        return CSE_OK;
    if (errno == EAGAIN) {
        c->dropped++;
        return CSE_OK;
    }
    return cse_fail(CSE_IO, "%s has ended, or closed its standard input", c->program);
}

static cse_status flush(void *logger)
{
    (void)logger;
    return CSE_OK;
}

/* Waits for the program; whether it has ended. */
static bool has_ended(pid_t child, int most_ms)
{
    for (int waited = 0;; waited += TURN_MS) {
        pid_t ended = waitpid(child, NULL, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (waited >= most_ms)
            return false;
        poll(NULL, 0, TURN_MS);
    }
}

static void close_command(void *logger)
{
    command *c = logger;
    close(c->pipe);
    if (c->dropped > 0)
        cse_log_line(CSE_LOG_WARNING, "CommandLogger: %s did not keep up: %lld values were dropped",
                     c->program, (long long)c->dropped);
    if (!has_ended(c->child, END_MS)) {
        cse_log_line(CSE_LOG_WARNING,
                     "CommandLogger: %s goes on %d s after the end of its input; it is ended",
                     c->program, END_MS / 1000);
        kill(c->child, SIGTERM);
        if (!has_ended(c->child, END_MS / 5)) {
            kill(c->child, SIGKILL);
            has_ended(c->child, END_MS);
        }
    }
    free(c);
}

/* In the child; only async-signal-safe calls. Reports why it returns through `report`. */
static void run_program(char *const *arguments, int input, int report)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the run, which then ends the input */
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && dup2(input, 0) == 0 && dup2(2, 1) == 1)
        execvp(arguments[0], arguments);
    int reason = errno;
    while (write(report, &reason, sizeof reason) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Forks; returns 0, or why the program does not run. */
static int start(command *c, char *const *arguments)
{
    int input[2], report[2], reason = 0;
    if (pipe2(input, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(report, O_CLOEXEC) != 0) {
        reason = errno;
        close(input[0]);
        close(input[1]);
        return reason;
    }
    c->child = fork();
    if (c->child == 0)
        run_program(arguments, input[0], report[1]);
    reason = c->child < 0 ? errno : 0;
    close(input[0]);
    close(report[1]);
    while (reason == 0 && read(report[0], &reason, sizeof reason) < 0 && errno == EINTR)
        ;
    close(report[0]);
    c->pipe = input[1];
    if (reason != 0) {
        close(c->pipe);
        if (c->child > 0)
            waitpid(c->child, NULL, 0);
        return reason;
    }
    fcntl(c->pipe, F_SETPIPE_SZ, QUEUE_BYTES); /* else it is smaller */
    fcntl(c->pipe, F_SETFL, O_NONBLOCK);
    return 0;
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    const int count = cse_settings_count(settings, "arguments");
    const char *program = cse_settings_text(settings, "program");
    CSE_TRY(cse_confined_program(program));
    command *c = cse_calloc(1, sizeof *c);
    char **arguments = cse_calloc((size_t)count + 2, sizeof *arguments);
    (void)model_dir;
    c->program = program;
    arguments[0] = cse_strdup(program);
    for (int i = 0; i < count; i++)
        arguments[i + 1] = cse_strdup(cse_settings_text_at(settings, "arguments", i));
    const int reason = start(c, arguments);
    for (int i = 0; i <= count; i++)
        free(arguments[i]);
    free(arguments);
    if (reason == 0) {
        *logger = c;
        return CSE_OK;
    }
    free(c);
    return cse_fail(CSE_NO_INPUT, "program: %s cannot be run: %s", program, strerror(reason));
}

static const cse_setting settings[] = {
    { .name = "program",
      .type = CSE_SETTING_PATH,
      .doc = "the program, as a path or a name in PATH; run without a shell" },
    { .name = "arguments",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "its arguments" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_command = {
    .name = "CommandLogger",
    .summary = "hands each scalar to a program, as JSON lines on its standard input",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_command,
    .later = true,
};
