/* Programs are started without a shell, and waited for. */
#include "run/alerts/alert_delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/config/alert_settings.h"
#include "engine/base/config/settings.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"
#include "run/alerts/alert_watch.h"
#include "run/loggers/plain_http.h"

enum { PROGRAM_MS = 10000, TURN_MS = 20 };

extern char **environ;

struct cse_alert_delivery {
    bool has_webhook;
    cse_http_place place;
    cse_http_link link;
    const char *webhook;
    char **program; /* and its arguments, ended by NULL; NULL: none */
};

cse_status cse_alert_check(const cse_settings *settings)
{
    if (settings == NULL)
        return CSE_OK;
    CSE_TRY(cse_alert_settings_check(settings));
    if (cse_settings_count(settings, "when") > CSE_ALERTS_MOST)
        return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place(settings, "when")),
                           "when: a run may have %d conditions", CSE_ALERTS_MOST);
    for (int i = 0; i < cse_settings_count(settings, "when"); i++) {
        cse_alert_expression *expression = NULL;
        const cse_status status =
            cse_alert_expression_parse(cse_settings_text_at(settings, "when", i), &expression);
        cse_alert_expression_destroy(&expression);
        if (status != CSE_OK) {
            char message[512];
            snprintf(message, sizeof message, "%s", cse_error_message());
            return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place_at(settings, "when", i)),
                               "when: %s", message);
        }
    }
    cse_http_place place;
    if (cse_settings_has(settings, "webhook") &&
        cse_http_place_read(cse_settings_text(settings, "webhook"), &place) != CSE_OK)
        return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place(settings, "webhook")),
                           "webhook: %s; for https use program: curl",
                           cse_settings_text(settings, "webhook"));
    if (cse_settings_count(settings, "arguments") > 0 && !cse_settings_has(settings, "program"))
        return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place(settings, "arguments")),
                           "arguments has no effect without program");
    return CSE_OK;
}

static void read_program(const cse_settings *settings, cse_alert_delivery *d)
{
    const int count = cse_settings_count(settings, "arguments");
    d->program = cse_calloc((size_t)count + 2, sizeof *d->program);
    d->program[0] = cse_strdup(cse_settings_text(settings, "program"));
    for (int i = 0; i < count; i++)
        d->program[i + 1] = cse_strdup(cse_settings_text_at(settings, "arguments", i));
}

cse_status cse_alert_delivery_new(const cse_settings *settings, cse_alert_delivery **delivery)
{
    const bool has_webhook = cse_settings_has(settings, "webhook");
    const bool has_program = cse_settings_has(settings, "program");
    *delivery = NULL;
    if (has_webhook && cse_confinement_view() != NULL)
        return cse_fail(CSE_CONFIG, "alerts: webhook: a confined job opens no connections; its "
                                    "alerts are events of the server");
    if (has_program)
        CSE_TRY(cse_confined_program(cse_settings_text(settings, "program")));
    cse_alert_delivery *d = cse_calloc(1, sizeof *d);
    d->link = (cse_http_link){ .lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };
    if (has_webhook) {
        d->has_webhook = true;
        d->webhook = cse_settings_text(settings, "webhook");
        cse_http_place_read(d->webhook, &d->place);
    }
    if (has_program)
        read_program(settings, d);
    *delivery = d;
    return CSE_OK;
}

void cse_alert_delivery_destroy(cse_alert_delivery **delivery)
{
    cse_alert_delivery *d = *delivery;
    for (int i = 0; d != NULL && d->program != NULL && d->program[i] != NULL; i++)
        free(d->program[i]);
    if (d != NULL)
        free(d->program);
    free(d);
    *delivery = NULL;
}

static void post(cse_alert_delivery *d, const char *json)
{
    cse_text body = { 0 }, answer = { 0 };
    int code = 0;
    cse_text_add(&body, "%s", json);
    const cse_http_request request = { .method = "POST", .path = "", .body = &body };
    const cse_status status = cse_http_ask(&d->place, &d->link, &request, &code, &answer);
    if (status != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "alert: %s: %s", d->webhook, cse_error_message());
    else if (code < 200 || code > 299)
        cse_log_line(CSE_LOG_WARNING, "alert: %s answered with status %d", d->webhook, code);
    cse_text_clear(&body);
    cse_text_clear(&answer);
}

/* ---- the program ---- */

/* The whole text fits into a pipe, so that this never waits for the program. */
static int input_with(const char *json)
{
    int ends[2];
    const size_t size = strlen(json);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const bool whole = write(ends[1], json, size) == (ssize_t)size && write(ends[1], "\n", 1) == 1;
    close(ends[1]);
    if (whole)
        return ends[0];
    close(ends[0]);
    errno = EMSGSIZE;
    return -1;
}

/* Returns 0, or why the program does not run. */
static int start(const cse_alert_delivery *d, int input, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* Ctrl-C is for the run */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int reason =
        posix_spawnp(child, d->program[0], &actions, &attributes, d->program, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

static void await(const cse_alert_delivery *d, pid_t child)
{
    int how = 0, waited = 0;
    while (waitpid(child, &how, WNOHANG) == 0) {
        if (waited >= PROGRAM_MS) {
            kill(-child, SIGKILL);
            while (waitpid(child, &how, 0) < 0 && errno == EINTR)
                ;
            cse_log_line(CSE_LOG_WARNING, "alert: %s did not end within %d s and was killed",
                         d->program[0], PROGRAM_MS / 1000);
            return;
        }
        poll(NULL, 0, TURN_MS);
        waited += TURN_MS;
    }
    if (WIFEXITED(how) && WEXITSTATUS(how) != 0)
        cse_log_line(CSE_LOG_WARNING, "alert: %s ended with exit code %d", d->program[0],
                     WEXITSTATUS(how));
    else if (WIFSIGNALED(how))
        cse_log_line(CSE_LOG_WARNING, "alert: %s was killed by signal %d", d->program[0],
                     WTERMSIG(how));
}

static void run_program(const cse_alert_delivery *d, const char *json)
{
    pid_t child = -1;
    const int input = input_with(json);
    const int reason = input >= 0 ? start(d, input, &child) : errno;
    if (input >= 0)
        close(input);
    if (reason != 0)
        cse_log_line(CSE_LOG_WARNING, "alert: %s cannot be run: %s", d->program[0],
                     strerror(reason));
    else
        await(d, child);
}

void cse_alert_deliver(cse_alert_delivery *delivery, const char *json)
{
    if (delivery->has_webhook)
        post(delivery, json);
    if (delivery->program != NULL)
        run_program(delivery, json);
}
