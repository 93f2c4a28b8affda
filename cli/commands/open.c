/* `csengine open`: opens the pages of a server or of one job in the desktop's browser.
 *
 * The address that is printed lets a browser in: it holds the token of a server of this user, which
 * the server swaps for a cookie. The browser gets it from a file that leads to the address, since
 * other users can see the words of its command line. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client/client_command.h"
#include "cli/client/client_note.h"
#include "cli/terminal/report.h"
#include "run/control/run_command.h"

extern char **environ;

static bool has_desktop(void)
{
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (display != NULL && *display != '\0') || (wayland != NULL && *wayland != '\0');
}

/* A page that leads to the address, in a folder and a file of this user alone. */
static bool write_leader(const char *url, cse_text *path)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime == NULL || *runtime != '/')
        return false;
    cse_text_add(path, "%s/csengine", runtime);
    mkdir(path->data, 0700);
    cse_text_add(path, "/open.html");
    unlink(path->data);
    int file = open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = dprintf(file,
                           "<!doctype html><meta name=\"referrer\" content=\"no-referrer\">"
                           "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
                           url) > 0;
    return close(file) == 0 && written;
}

/* True when xdg-open accepted the address. */
static bool open_page(char *url)
{
    char program[] = "xdg-open";
    char *const arguments[] = { program, url, NULL };
    pid_t child;
    int end = 0;
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) != 0)
        return false;
    return waitpid(child, &end, 0) == child && WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

static bool show_in_browser(char *url)
{
    cse_text path = { 0 };
    bool opened = strstr(url, "?token=") == NULL ? open_page(url)
                                                 : write_leader(url, &path) && open_page(path.data);
    cse_text_clear(&path);
    return opened;
}

/* The address of a job's page, after checking that the job exists, or of the list of jobs. */
static cse_status find_page(cse_client *api, const char *job, cse_text *url)
{
    cse_client_answer answer = { 0 };
    const char *server = cse_client_server_view(api);
    if (strncmp(server, "unix:", 5) == 0)
        return cse_fail(CSE_USAGE,
                        "open: %s is a unix socket, which no browser opens; serve with "
                        "--listen 127.0.0.1:PORT as well",
                        server);
    cse_status status =
        job != NULL ? cse_client_get_job(api, job, "", &answer)
                    : cse_client_call(api, &(cse_client_request){ .path = "/healthz" }, &answer);
    if (status == CSE_OK) {
        cse_text_add(url, "%s/%s%s", server, job != NULL ? "jobs/" : "", job != NULL ? job : "");
        cse_client_add_sign_in(cse_client_token_file_view(api), url);
    }
    cse_client_answer_clear(&answer);
    return status;
}

static void show(const cse_command_line *line, char *url)
{
    if (cse_option_is_on(line, "json")) {
        printf("{\"url\":\"%s\"}\n", url);
        return;
    }
    bool opened = !cse_option_is_on(line, "print") && has_desktop() && show_in_browser(url);
    /* Opened: who reads this later has no use for the token. */
    printf("%s%.*s\n", opened ? "opened " : "", (int)(opened ? strcspn(url, "?") : strlen(url)),
           url);
}

static cse_status body(cse_client *api, const cse_command_line *line)
{
    cse_text url = { 0 };
    cse_status status = find_page(api, line->argument_count > 0 ? line->arguments[0] : NULL, &url);
    if (status == CSE_OK)
        show(line, url.data);
    cse_text_clear(&url);
    return status;
}

/* A run that was started by `csengine start` has a server of its own until it ends. */
static cse_status open_run(const cse_command_line *line)
{
    cse_client_note note;
    cse_status status = cse_client_note_read(line->arguments[0], &note);
    if (status == CSE_OK) {
        cse_text url = { 0 };
        cse_text_add(&url, "%s/", note.url);
        cse_client_add_sign_in(note.token_file, &url);
        show(line, url.data);
        cse_text_clear(&url);
    } else
        status =
            cse_fail(CSE_UNAVAILABLE,
                     "no server serves the run in %s: csengine serve --run %s, or csengine report "
                     "%s -o run.html",
                     line->arguments[0], line->arguments[0], line->arguments[0]);
    return status;
}

static int run(const cse_command_line *line)
{
    if (line->argument_count > 0 && cse_names_run(line->arguments[0]))
        return cse_report(open_run(line));
    return cse_client_command(line, body);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "print", NULL, NULL, "prints the address without opening it" },
    { 0 },
};

const cse_command cse_command_open = {
    .name = "open",
    .group = CSE_GROUP_LOOK,
    .summary = "opens the dashboard of a server or of a job in the browser",
    .arguments = "[JOB|MODEL_DIR]",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run,
};
