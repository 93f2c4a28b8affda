/* The supervisor waits for all its children, so a double fork detaches the server. It has its own
 * process session, so that Ctrl-C does not reach it, and a lower priority than training.
 *
 * The pipe `lifeline` is both the signal to start and the sign of life: one byte starts the server,
 * and its end, when the last process of the run is gone, ends whatever the process has become by
 * then. So there is no moment at which a killed run leaves a server behind. */
#include "cli/runs/dashboard_child.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dashboard/http/listen.h"
#include "engine/base/log.h"
#include "workers/control/process.h"

enum { NICE = 5, PATIENCE_MS = 5000, REPLY_BYTES = 16384 };

/* What the process set aside needs; made before the fork. */
typedef struct waiting {
    char executable[PATH_MAX], log[PATH_MAX];
    const cse_dashboard_child *child;
    int lifeline, reply;
} waiting;

bool cse_dashboard_is_off(void)
{
    const char *given = getenv("CSE_DASHBOARD");
    return given != NULL && strcmp(given, "0") == 0;
}

cse_status cse_dashboard_child_check(const char *listen)
{
    cse_listener listener;
    cse_status status = cse_listen(listen, false, &listener);
    cse_listener_clear(&listener);
    if (status == CSE_PERMISSION)
        return cse_fail(
            CSE_USAGE,
            "start: --listen %s: other machines could reach this address, which takes a "
            "token that you have chosen; listen on 127.0.0.1:PORT, "
            "[::1]:PORT or unix:PATH, or give --no_dashboard and show the run by "
            "`csengine serve --run MODEL_DIR --listen %s --token_file FILE`",
            listen, listen);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "start: --");
}

/* ---- the process set aside ---- */

/* Keeps the two pipes as standard input and output, and nothing else of the parent: whoever reads
 * the parent's output must see its end. */
static void leave_parent(const waiting *w)
{
    int lifeline = fcntl(w->lifeline, F_DUPFD, 10), reply = fcntl(w->reply, F_DUPFD, 10);
    int nothing = open("/dev/null", O_RDWR);
    if (lifeline < 0 || reply < 0 || nothing < 0)
        _exit(1);
    dup2(lifeline, 0);
    dup2(reply, 1);
    dup2(nothing, 2);
    close_range(3, UINT_MAX, 0);
    signal(SIGPIPE, SIG_IGN); /* the run may no longer wait for the address */
    setsid();
    setpriority(PRIO_PROCESS, 0, NICE);
}

static bool is_wanted(void)
{
    char byte;
    ssize_t size;
    do
        size = read(0, &byte, 1);
    while (size < 0 && errno == EINTR);
    return size == 1;
}

static void become_server(const waiting *w)
{
    const cse_dashboard_child *child = w->child;
    const char *words[16] = { w->executable, "serve",    "--run", child->model_dir,
                              "--json",      "--follow", "-" };
    int count = 7;
    if (child->listen != NULL) {
        words[count++] = "--listen";
        words[count++] = child->listen;
    }
    int log = open(w->log, O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0666);
    if (log >= 0) {
        dup2(log, 2);
        close(log);
    }
    execv(w->executable, (char *const *)(uintptr_t)words);
    _exit(127);
}

static void run_waiting(const waiting *w)
{
    leave_parent(w);
    if (is_wanted())
        become_server(w);
    _exit(0);
}

/* ---- the run ---- */

static void close_pipe(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

void cse_dashboard_child_prepare(cse_dashboard_child *child)
{
    int lifeline[2] = { -1, -1 }, reply[2] = { -1, -1 };
    waiting w = { .child = child };
    child->lifeline = child->reply = -1;
    if (cse_worker_executable(NULL, w.executable, sizeof w.executable) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "no dashboard: %s", cse_error_message());
        return;
    }
    if ((size_t)snprintf(w.log, sizeof w.log, "%s/logs/dashboard.log", child->model_dir) >=
        sizeof w.log)
        return; /* no such run can start */
    fflush(NULL);
    pid_t between = -1;
    if (pipe2(lifeline, O_CLOEXEC) == 0 && pipe2(reply, O_CLOEXEC) == 0)
        between = fork();
    if (between < 0) {
        cse_log_line(CSE_LOG_WARNING, "no dashboard: %s", strerror(errno));
        close_pipe(lifeline);
        close_pipe(reply);
        return;
    }
    w.lifeline = lifeline[0];
    w.reply = reply[1];
    if (between == 0) {
        if (fork() == 0)
            run_waiting(&w);
        _exit(0);
    }
    waitpid(between, NULL, 0);
    close(lifeline[0]);
    close(reply[1]);
    child->lifeline = lifeline[1];
    child->reply = reply[0];
}

/* The line that `csengine serve --json` prints, as far as it comes in time. */
static size_t read_reply(int reply, char *line, size_t size)
{
    size_t got = 0;
    struct pollfd readable = { .fd = reply, .events = POLLIN };
    while (got + 1 < size && memchr(line, '\n', got) == NULL &&
           poll(&readable, 1, PATIENCE_MS) > 0) {
        ssize_t more = read(reply, line + got, size - 1 - got);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    line[got] = '\0';
    return got;
}

/* Prints the address, or why there is none. */
static void show_reply(const cse_dashboard_child *child, const char *line)
{
    json_t *note = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    const char *url = json_string_value(json_object_get(note, "url"));
    const char *page = json_string_value(json_object_get(note, "page"));
    const char *message = json_string_value(json_object_get(note, "message"));
    if (url != NULL && child->quiet)
        ; /* it is in the run's folder */
    else if (url != NULL && child->json)
        printf("%.*s\n", (int)strcspn(line, "\n"), line);
    else if (url != NULL)
        printf("Dashboard: %s\n", page != NULL ? page : url);
    else if (message != NULL)
        cse_log_line(CSE_LOG_WARNING, "no dashboard: %s; training goes on without it", message);
    else
        cse_log_line(CSE_LOG_WARNING,
                     "the dashboard gives no address: see %s/logs/dashboard.log; training goes on",
                     child->model_dir);
    fflush(stdout);
    json_decref(note);
}

void cse_dashboard_child_start(cse_dashboard_child *child)
{
    char line[REPLY_BYTES];
    if (child == NULL || child->lifeline < 0 || child->reply < 0)
        return;
    if (write(child->lifeline, "\n", 1) == 1) {
        read_reply(child->reply, line, sizeof line);
        show_reply(child, line);
    }
    close(child->reply);
    child->reply = -1;
}
