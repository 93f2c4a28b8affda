/* `csengine serve`: the dashboard and the REST API, of one run or of a queue of jobs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/models/served_models.h"
#include "cli/runs/followed.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "dashboard/server.h"
#include "engine/base/clock.h"

enum { LOOK_MS = 50, SHUTDOWN_POLL_MS = 800, PATIENCE_SECONDS = 5 };

/* Waits for a signal or for the end of what is followed. After the latter, clients get time to
 * receive the last events. */
static void wait_for_end(const sigset_t *ending, cse_followed *followed, const cse_server *server)
{
    int signals = signalfd(-1, ending, SFD_CLOEXEC);
    struct pollfd awaited[] = { { .fd = signals, .events = POLLIN },
                                { .fd = followed->descriptor, .events = POLLIN } };
    do
        while (poll(awaited, 2, -1) < 0 && errno == EINTR)
            ;
    while (awaited[0].revents == 0 && !cse_followed_is_gone(followed));
    close(signals);
    if (followed->state == CSE_FOLLOW_GONE && cse_feed_figures_now(server->feed).streams > 0)
        cse_sleep_ns(SHUTDOWN_POLL_MS * INT64_C(1000000));
}

/* A run that is followed may be about to create its store. */
static cse_status start_server(const cse_server_options *options, cse_followed *followed,
                               cse_server **server)
{
    int64_t patience_ns = cse_clock_ns() + PATIENCE_SECONDS * INT64_C(1000000000);
    for (;;) {
        cse_status status = cse_server_start(options, server);
        bool missing = status == CSE_NO_INPUT;
        bool unfinished =
            (status == CSE_TEMPORARY || status == CSE_IO) && cse_clock_ns() < patience_ns;
        if (!(missing || unfinished) || cse_followed_is_gone(followed) ||
            followed->state != CSE_FOLLOW_ALIVE)
            return status;
        cse_sleep_ns(LOOK_MS * INT64_C(1000000));
    }
}

/* With --json the reason is on stdout as well, where a parent reads the address. */
static int report_failure(const cse_command_line *line, cse_status status)
{
    if (cse_option_is_on(line, "json")) {
        json_t *note = json_pack("{s:s, s:s}", "event", "failed", "message", cse_error_message());
        cse_json_print(note);
        fflush(stdout);
        json_decref(note);
    }
    return cse_report(status);
}

/* Numbers of 1 or more; 0 where the option was not given. */
static cse_status read_numbers(const cse_command_line *line, cse_server_options *o)
{
    double cores = 0, memory_mib = 0, connections = 0, heartbeat = 0, context = 0, queue = 0,
           together = 0;
    const struct {
        const char *name;
        double most, *value;
    } rows[] = { { "cores", 4096, &cores },
                 { "memory_mib", 1e9, &memory_mib },
                 { "connections", 60000, &connections },
                 { "requests_per_second", 1e6, &o->requests_per_second },
                 { "client_seconds", 3600, &o->client_seconds },
                 { "heartbeat_seconds", 3600, &heartbeat },
                 { "model_context", 1 << 24, &context },
                 { "model_together", 16, &together },
                 { "model_queue", 16, &queue } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CSE_TRY(
            cse_option_number(line, rows[i].name, (double[]){ 1, rows[i].most }, rows[i].value));
    o->cores = (int64_t)cores;
    o->memory_bytes = (int64_t)memory_mib << 20;
    o->connection_limit = (int)connections;
    o->heartbeat_ms = (int64_t)(heartbeat * 1000);
    o->model_context = (int64_t)context;
    o->model_together = (int)together;
    o->model_queue = (int)queue;
    return o->models[0].given != NULL || (context == 0 && together == 0 && queue == 0)
               ? CSE_OK
               : cse_fail(CSE_USAGE, "serve: --model_context, --model_together and --model_queue "
                                     "are of --model PATH");
}

/* Options that may be given more than once; each list is one allocation. */
typedef struct option_lists {
    const char **host_names, **data_roots, **output_roots, **libraries, **programs, **variables;
    cse_served_model *models;
} option_lists;

static option_lists read_lists(const cse_command_line *line)
{
    return (option_lists){ .host_names = cse_option_all_values(line, "host_name"),
                           .data_roots = cse_option_all_values(line, "data_root"),
                           .output_roots = cse_option_all_values(line, "output_root"),
                           .libraries = cse_option_all_values(line, "allow_library"),
                           .programs = cse_option_all_values(line, "allow_program"),
                           .variables = cse_option_all_values(line, "job_environment") };
}

static void clear_lists(const option_lists *lists)
{
    free(lists->host_names);
    free(lists->data_roots);
    free(lists->output_roots);
    free(lists->libraries);
    free(lists->programs);
    free(lists->variables);
    free(lists->models);
}

static cse_status read_options(const cse_command_line *line, const option_lists *lists,
                               cse_server_options *o)
{
    *o = (cse_server_options){ .root = cse_option_value(line, "root"),
                               .run_dir = cse_option_value(line, "run"),
                               .listen = cse_option_value(line, "listen"),
                               .token_file = cse_option_value(line, "token_file"),
                               .web_dir = cse_option_value(line, "web_dir"),
                               .host_names = lists->host_names,
                               .models = lists->models,
                               .limits = { .data_roots = lists->data_roots,
                                           .output_roots = lists->output_roots,
                                           .libraries = lists->libraries,
                                           .programs = lists->programs,
                                           .variables = lists->variables } };
    static const char *const launchers[] = { "slurm", NULL };
    const char *launcher = NULL;
    CSE_TRY(read_numbers(line, o));
    CSE_TRY(cse_option_word(line, "allow_launcher", launchers, &launcher));
    o->slurm = launcher != NULL;
    if (o->root == NULL && o->run_dir == NULL && o->models[0].given != NULL)
        o->root = "queue";
    if ((o->root == NULL) == (o->run_dir == NULL))
        return cse_fail(CSE_USAGE, "serve: give --root DIR for a queue of jobs, --run MODEL_DIR "
                                   "for one run, or --model PATH for a model");
    return CSE_OK;
}

/* The page's address holds a token that the server has made; one of the operator's is not shown. */
static void print_address(const cse_command_line *line, const cse_server *server)
{
    const cse_entry *entry = cse_http_entry_view(server->http);
    if (cse_option_is_on(line, "json")) {
        json_t *note =
            json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:I}", "event", "listening", "url",
                      entry->main.url, "page", entry->page, "socket", entry->local.unix_path,
                      "token_file", entry->token_path, "pid", (json_int_t)getpid());
        cse_json_print(note);
        json_decref(note);
    } else {
        printf("Dashboard: %s\n", entry->page);
    }
    fflush(stdout);
}

static int run(const cse_command_line *line)
{
    cse_server_options options;
    option_lists lists = read_lists(line);
    cse_server *server = NULL;
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, NULL); /* before there are threads, which inherit it */
    cse_followed followed;
    cse_status status = cse_followed_open(cse_option_value(line, "follow"), &followed);
    if (status == CSE_OK)
        status = cse_served_models_read(line, &lists.models);
    if (status == CSE_OK)
        status = read_options(line, &lists, &options);
    if (status == CSE_OK && !cse_followed_is_gone(&followed))
        status = start_server(&options, &followed, &server);
    clear_lists(&lists);
    if (cse_followed_is_gone(&followed)) {
        cse_server_stop(&server);
        return 0;
    }
    if (status != CSE_OK)
        return report_failure(line, status);
    print_address(line, server);
    wait_for_end(&ending, &followed, server);
    cse_server_stop(&server);
    cse_followed_close(&followed);
    return 0;
}

static const cse_option options[] = {
    { "root", "DIR", NULL, "runs a queue of jobs that is stored in DIR; one server per DIR" },
    { "run", "MODEL_DIR", NULL, "shows one run, in progress or ended" },
    CSE_SERVED_MODEL_OPTIONS,
    { "model_together", "N", NULL,
      "requests that a model answers at the same time, its texts written together; 1 to 16; "
      "default 16" },
    { "model_queue", "N", NULL,
      "requests that may wait for models; one more is answered by 429; 1 to 16; default 8" },
    { "listen", "ADDRESS", NULL,
      "127.0.0.1:PORT (default, with a free port), [::1]:PORT, unix:PATH; others need "
      "--token_file" },
    { "token_file", "FILE", NULL,
      "file of mode 0600 with the token that clients must send, or one a line: TOKEN name=NAME "
      "cores=N memory_mib=N jobs=N; default: one is made" },
    { "host_name", "NAME", NULL, "a further host name to accept in requests; repeatable" },
    { "data_root", "DIR", NULL,
      "folder below which jobs may read data, besides the queue's; repeatable; default: the data "
      "sets of Debian" },
    { "output_root", "DIR", NULL,
      "folder below which jobs may write, besides their own; repeatable; default: none" },
    { "allow_library", "DIR", NULL,
      "folder whose shared objects a job may load as plugins (library: PATH); repeatable; default: "
      "none" },
    { "allow_program", "DIR", NULL,
      "folder whose executables may be submitted as jobs; repeatable; default: none" },
    { "job_environment", "NAME", NULL,
      "environment variable of the server that jobs get, besides those of a list; repeatable" },
    { "allow_launcher", "NAME", NULL,
      "slurm: jobs may ask to be batch jobs, with the rights of this server's user; default: "
      "none" },
    { "cores", "N", NULL,
      "cores that all jobs together may take; more than the machine has: permits that; default: "
      "all" },
    { "memory_mib", "N", NULL, "memory that all jobs together may take; default: all" },
    { "connections", "N", NULL, "most connections at the same time; default 4096" },
    { "requests_per_second", "N", NULL,
      "most requests per second of one client address; default 2000" },
    { "client_seconds", "N", NULL,
      "timeout for a request's headers; twice that for its body and the response; default 15" },
    { "heartbeat_seconds", "N", NULL, "interval between heartbeats on event streams; default 15" },
    { "web_dir", "DIR", NULL, "serves the pages in DIR instead of the built-in ones" },
    { "follow", "PID", NULL,
      "ends when process PID has ended; -: when nobody can write to its standard input any more" },
    { "json", NULL, NULL, "prints the address as one line of JSON" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "serve --root queue", "serves a queue of jobs that is kept in ./queue" },
    { "serve --run model_dir/fc_mnist", "shows a run that has ended" },
    { "serve --model ./SmolLM2-135M-Instruct=small",
      "answers requests for the model small as OpenAI's interface does" },
    { "serve --model ./SmolLM2-135M-Instruct=small --adapter ./law --adapter ./code",
      "answers also for the models law and code, which are small with an adapter each" },
    { 0 },
};

static const cse_command_note files[] = {
    { "ROOT/jobs.db", "the queue: what each job was asked to do" },
    { "ROOT/server.json, MODEL_DIR/server.json", "address of the server" },
    { "ROOT/server.sock, MODEL_DIR/server.sock",
      "unix socket with the same API, for the server's own user, who needs no token there" },
    { "ROOT/token, MODEL_DIR/token",
      "the token that clients show over TCP; that of a queue stays until the file is removed" },
    { "$XDG_RUNTIME_DIR/csengine/server.json", "address of the server of a queue that was started "
                                               "last, which the commands of jobs talk to" },
    { 0 },
};

const cse_command cse_command_serve = {
    .name = "serve",
    .group = CSE_GROUP_STEER,
    .summary = "serves the dashboard and the REST API",
    .arguments = "",
    .doc = "Writes its address to server.json in DIR or MODEL_DIR (for a queue also in\n"
           "$XDG_RUNTIME_DIR/csengine). Jobs are separate processes: they continue when the\n"
           "server ends or is killed, and the next server with the same DIR finds them.\n"
           "\n"
           "The address that is printed holds a token: opened in a browser it lets that browser\n"
           "in. Whoever has the token may run jobs as the user of the server.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 0,
    .examples = examples,
    .files = files,
    .computes = true,
    .run = run,
};
