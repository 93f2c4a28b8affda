/* The parent polls the run store until all processes of the run are ready. */
#include "cli/terminal/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "store/reader.h"

#define POLL_NS INT64_C(20000000)

static cse_run_status read_status(const char *model_dir, char *id, size_t size)
{
    cse_run_status status = { .state = CSE_RUN_NONE };
    cse_store_reader *reader = NULL;
    cse_text text = { 0 };
    if (cse_store_reader_open(model_dir, &reader) == CSE_OK &&
        cse_store_reader_status(reader, &status) == CSE_OK && id != NULL &&
        cse_store_reader_key(reader, "id", &text))
        snprintf(id, size, "%s", text.data);
    cse_text_clear(&text);
    cse_store_reader_close(&reader);
    return status;
}

static cse_status open_output(const char *model_dir, int *output)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/logs", model_dir) >= sizeof path - 16)
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", model_dir);
    CSE_TRY(cse_make_directories("model_dir", path));
    strncat(path, "/output.log", sizeof path - strlen(path) - 1);
    *output = open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0666);
    return *output >= 0
               ? CSE_OK
               : cse_fail(CSE_CANNOT_CREATE, "%s cannot be opened: %s", path, strerror(errno));
}

/* In the child: leaves the terminal. */
static void run_body(const cse_detach_options *options, int output)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    signal(SIGHUP, SIG_IGN);
    dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    exit(options->body(options->self));
}

/* Copies what the child wrote to stderr. */
static void show_output(int output, off_t from)
{
    char part[4096];
    ssize_t size;
    while ((size = pread(output, part, sizeof part, from)) > 0) {
        fwrite(part, 1, (size_t)size, stderr);
        from += size;
    }
}

static void report_started(const cse_detach_options *options, const char *state, const char *id,
                           pid_t child)
{
    char absolute[PATH_MAX];
    const char *path = realpath(options->model_dir, absolute);
    if (path == NULL)
        path = options->model_dir;
    if (options->json) {
        json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:i}", "event", "detached", "id", id,
                                 "model_dir", path, "state", state, "pid", (int)child);
        cse_json_print(line);
        json_decref(line);
    } else {
        cse_print("Run %s is %s in the background: process %d, model_dir %s\n", id, state,
                  (int)child, path);
    }
    fflush(stdout);
}

/* The run store's attempt and the end of the output before the child started. */
typedef struct before_child {
    int64_t attempt;
    off_t output_end;
} before_child;

static int wait_for_run(const cse_detach_options *options, pid_t child, before_child before,
                        int output)
{
    char id[64] = "";
    for (;;) {
        int how = 0;
        pid_t ended = waitpid(child, &how, WNOHANG);
        cse_run_status status = read_status(options->model_dir, id, sizeof id);
        bool is_ours = status.attempt > before.attempt;
        if (ended == child) {
            int code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            if (code == 0)
                report_started(options, cse_run_state_name(status.state), id, child);
            else
                show_output(output, before.output_end);
            return code;
        }
        if (is_ours && status.state == CSE_RUN_RUNNING) {
            report_started(options, "RUNNING", id, child);
            return 0;
        }
        cse_sleep_ns(POLL_NS);
    }
}

int cse_detach(const cse_detach_options *options)
{
    int output = -1;
    cse_status status = open_output(options->model_dir, &output);
    if (status != CSE_OK)
        return cse_report(status);
    before_child before = { .attempt = read_status(options->model_dir, NULL, 0).attempt,
                            .output_end = lseek(output, 0, SEEK_END) };
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_body(options, output);
    int code =
        child > 0 ? wait_for_run(options, child, before, output)
                  : cse_report(cse_fail(CSE_TEMPORARY, "cannot detach: fork: %s", strerror(errno)));
    close(output);
    return code;
}
