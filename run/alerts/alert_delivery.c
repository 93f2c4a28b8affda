/* The program is run without a shell, and waited for. */
#include "run/alerts/alert_delivery.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/config/settings.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"
#include "engine/base/piped_program.h"
#include "run/loggers/plain_http.h"

enum { PROGRAM_S = 10, MOST_PRINTED = 64 << 10 };

struct cse_alert_delivery {
    const char *webhook; /* NULL: none */
    cse_http_place place;
    cse_http_link link;
    char **program; /* and its arguments, ended by NULL; NULL: none */
};

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
    const bool has_program = cse_settings_has(settings, "program");
    const char *webhook =
        cse_settings_has(settings, "webhook") ? cse_settings_text(settings, "webhook") : NULL;
    *delivery = NULL;
    if (webhook != NULL && cse_confinement_view() != NULL)
        return cse_fail(CSE_CONFIG, "alerts: webhook: a confined job opens no connections");
    if (has_program)
        CSE_TRY(cse_confined_program(cse_settings_text(settings, "program")));
    cse_alert_delivery *d = cse_calloc(1, sizeof *d);
    d->link = (cse_http_link){ .lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };
    d->webhook = webhook;
    if (webhook != NULL)
        cse_http_place_read(webhook, &d->place);
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

static void post(cse_alert_delivery *d, const cse_text *json)
{
    cse_text answer = { 0 };
    int code = 0;
    const cse_http_request request = { .method = "POST", .path = "", .body = json };
    const cse_status status = cse_http_ask(&d->place, &d->link, &request, &code, &answer);
    if (status != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "alert: %s: %s", d->webhook, cse_error_message());
    else if (code < 200 || code > 299)
        cse_log_line(CSE_LOG_WARNING, "alert: %s answered with status %d", d->webhook, code);
    cse_text_clear(&answer);
}

static void print(const cse_text *text)
{
    if (text->size > 0)
        fwrite(text->data, 1, text->size, stderr);
}

static void run_program(const cse_alert_delivery *d, const cse_text *json)
{
    cse_piped_answer answer = { .late = false };
    const cse_piped_question question = { .words = d->program,
                                          .input = json,
                                          .deadline_ns =
                                              cse_clock_ns() + PROGRAM_S * INT64_C(1000000000),
                                          .most = MOST_PRINTED };
    if (cse_piped_program_ask(&question, &answer) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "alert: %s", cse_error_message());
        return;
    }
    print(&answer.output);
    print(&answer.errors);
    if (answer.late)
        cse_log_line(CSE_LOG_WARNING, "alert: %s did not end within %d s and was ended",
                     d->program[0], PROGRAM_S);
    else if (answer.exit_code != 0)
        cse_log_line(CSE_LOG_WARNING, "alert: %s ended with exit code %d", d->program[0],
                     answer.exit_code);
    cse_text_clear(&answer.output);
    cse_text_clear(&answer.errors);
}

void cse_alert_deliver(cse_alert_delivery *delivery, const char *json)
{
    cse_text text = { 0 };
    cse_text_add(&text, "%s", json);
    if (delivery->webhook != NULL)
        post(delivery, &text);
    cse_text_add(&text, "\n");
    if (delivery->program != NULL)
        run_program(delivery, &text);
    cse_text_clear(&text);
}
