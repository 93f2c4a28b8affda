/* `csengine serve`: the dashboard and the REST API, of one run or of a queue of jobs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/report.h"
#include "dashboard/server.h"
#include "engine/base/clock.h"

enum { MOST_NAMES = 16, LOOK_MS = 50, SHUTDOWN_POLL_MS = 800, PATIENCE_SECONDS = 5 };

/* Until somebody asks it to end, or the process that it follows (-1: none) has ended; those who
 * watch are then told of the end first. */
static void wait_for_end(const sigset_t *ending, int followed, const cse_server *server)
{
    int signals = signalfd(-1, ending, SFD_CLOEXEC);
    struct pollfd awaited[] = { { .fd = signals, .events = POLLIN },
                                { .fd = followed, .events = POLLIN } };
    while (poll(awaited, 2, -1) < 0 && errno == EINTR)
        ;
    close(signals);
    if (awaited[1].revents != 0 && cse_feed_figures_now(server->feed).streams > 0)
        cse_sleep_ns(SHUTDOWN_POLL_MS * INT64_C(1000000));
}

/* The run that is followed makes its store a moment after its start; while it is being made, what
 * is there may look like anything. */
static cse_status start_server(const cse_server_options *options, int followed, cse_server **server)
{
    int64_t patience_ns = cse_clock_ns() + PATIENCE_SECONDS * INT64_C(1000000000);
    for (;;) {
        struct pollfd ended = { .fd = followed, .events = POLLIN };
        cse_status status = cse_server_start(options, server);
        bool missing = status == CSE_NO_INPUT;
        bool unfinished = (status == CSE_DATA || status == CSE_TEMPORARY || status == CSE_IO) &&
                          cse_clock_ns() < patience_ns;
        if (followed < 0 || !(missing || unfinished) || poll(&ended, 1, LOOK_MS) > 0)
            return status;
    }
}

static cse_status read_number(const cse_command_line *line, const char *name, double most,
                              double *number)
{
    const char *text = cse_option_value(line, name);
    char *end = NULL;
    *number = 0;
    if (text == NULL)
        return CSE_OK;
    *number = strtod(text, &end);
    if (end == text || *end != '\0' || !(*number >= 1) || *number > most)
        return cse_fail(CSE_USAGE, "serve: --%s %s: accepted is a number from 1 to %.0f", name,
                        text, most);
    return CSE_OK;
}

static cse_status read_options(const cse_command_line *line, cse_server_options *o,
                               const char *names[MOST_NAMES])
{
    double cores, memory_mib, connections, rate, seconds, heartbeat;
    int count = 0;
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].option->name, "host_name") == 0 && count + 1 < MOST_NAMES)
            names[count++] = line->options[i].value;
    CSE_TRY(read_number(line, "cores", 4096, &cores));
    CSE_TRY(read_number(line, "memory_mib", 1e9, &memory_mib));
    CSE_TRY(read_number(line, "connections", 60000, &connections));
    CSE_TRY(read_number(line, "requests_per_second", 1e6, &rate));
    CSE_TRY(read_number(line, "client_seconds", 3600, &seconds));
    CSE_TRY(read_number(line, "heartbeat_seconds", 3600, &heartbeat));
    *o = (cse_server_options){ .root = cse_option_value(line, "root"),
                               .run_dir = cse_option_value(line, "run"),
                               .listen = cse_option_value(line, "listen"),
                               .token_file = cse_option_value(line, "token_file"),
                               .web_dir = cse_option_value(line, "web_dir"),
                               .host_names = names,
                               .cores = (int64_t)cores,
                               .memory_bytes = (int64_t)memory_mib << 20,
                               .connection_limit = (int)connections,
                               .requests_per_second = rate,
                               .client_seconds = seconds,
                               .heartbeat_ms = (int64_t)(heartbeat * 1000) };
    if ((o->root == NULL) == (o->run_dir == NULL))
        return cse_fail(CSE_USAGE, "serve: give --root DIR for a queue of jobs, or --run "
                                   "MODEL_DIR for one run");
    return CSE_OK;
}

static int open_followed(const cse_command_line *line)
{
    const char *pid = cse_option_value(line, "follow");
    return pid != NULL ? (int)syscall(SYS_pidfd_open, (pid_t)strtol(pid, NULL, 10), 0) : -1;
}

static int run(const cse_command_line *line)
{
    cse_server_options options;
    const char *names[MOST_NAMES] = { NULL };
    cse_server *server = NULL;
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, NULL); /* before there are threads, which inherit it */
    int followed = open_followed(line);
    cse_status status = read_options(line, &options, names);
    if (status == CSE_OK)
        status = start_server(&options, followed, &server);
    if (status != CSE_OK)
        return followed >= 0 && status == CSE_NO_INPUT ? 0 : cse_report(status);
    if (cse_option_is_on(line, "json"))
        printf("{\"event\":\"listening\",\"url\":\"%s\",\"pid\":%ld}\n",
               cse_server_url_view(server), (long)getpid());
    else
        printf("Dashboard: %s\n", cse_server_url_view(server));
    fflush(stdout);
    wait_for_end(&ending, followed, server);
    cse_server_stop(&server);
    return 0;
}

static const cse_option options[] = {
    { "root", "DIR", NULL, "owns a queue of jobs, kept in DIR; one server a DIR" },
    { "run", "MODEL_DIR", NULL, "shows this one run, living or ended" },
    { "listen", "ADDRESS", NULL,
      "127.0.0.1:PORT (the default, any free port), [::1]:PORT, unix:PATH; others need a token" },
    { "token_file", "FILE", NULL, "file of mode 0600 with the token that callers must show" },
    { "host_name", "NAME", NULL,
      "a further name that clients know the server by; may be repeated" },
    { "cores", "N", NULL, "cores that all jobs together may use; those of the machine" },
    { "memory_mib", "N", NULL, "memory that all jobs together may use; that of the machine" },
    { "connections", "N", NULL, "connections at once; 4096" },
    { "requests_per_second", "N", NULL, "requests of one address; 2000" },
    { "client_seconds", "N", NULL,
      "for a request's headers; twice that for its body, and for reading an answer; 15" },
    { "heartbeat_seconds", "N", NULL, "between signs of life on event streams; 15" },
    { "web_dir", "DIR", NULL, "pages from DIR instead of those of the build" },
    { "follow", "PID", NULL, "ends when this process has ended" },
    { "json", NULL, NULL, "the address as one line of JSON" },
    { 0 },
};

const cse_command cse_command_serve = {
    .name = "serve",
    .summary = "serves the dashboard and the REST API",
    .arguments = "",
    .doc = "Where it listens stands in server.json of DIR or MODEL_DIR (and of\n"
           "$XDG_RUNTIME_DIR/csengine for a queue). Jobs of a queue are processes of their own:\n"
           "they go on when the server ends or is killed, and the next server finds them.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 0,
    .run = run,
};
