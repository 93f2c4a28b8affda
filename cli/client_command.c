/* Opening, asking, showing, ending. */
#include "cli/client_command.h"

#include <curl/curl.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "cli/run_command.h"

int cse_client_command(const cse_command_line *line, cse_client_body *body)
{
    cse_client *api = NULL;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    cse_status status = cse_client_open(line, &api);
    if (status == CSE_OK)
        status = body(api, line);
    cse_client_close(&api);
    curl_global_cleanup();
    return cse_report(status);
}

static void show_body(const cse_client_answer *answer)
{
    if (answer->body.size == 0)
        return;
    fwrite(answer->body.data, 1, answer->body.size, stdout);
    if (answer->body.data[answer->body.size - 1] != '\n')
        putchar('\n');
}

cse_status cse_client_ask(cse_client *api, const cse_command_line *line,
                          const cse_client_request *request, bool show, cse_client_answer *answer)
{
    cse_status status = cse_client_call(api, request, answer);
    bool json = cse_option_is_on(line, "json");
    if (json && (status == CSE_OK ? show : answer->json != NULL))
        show_body(answer);
    return status;
}

static bool is_job_id(const char *id)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(id);
    return length >= 1 && length <= 64 && strspn(id, inner) == length && strchr("._-", *id) == NULL;
}

cse_status cse_client_job_path(cse_text *path, const char *id, const char *rest)
{
    if (!is_job_id(id))
        return cse_fail(CSE_USAGE,
                        "\"%.80s\" is no job: an id has 1 to 64 letters, digits, and inner . _ -; "
                        "`csengine get jobs` shows them",
                        id);
    cse_text_add(path, "/api/v1/jobs/%s%s", id, rest);
    return CSE_OK;
}

void cse_new_idempotency_key(char key[CSE_IDEMPOTENCY_KEY_BYTES])
{
    unsigned char bytes[(CSE_IDEMPOTENCY_KEY_BYTES - 1) / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(key, CSE_IDEMPOTENCY_KEY_BYTES, bytes, sizeof bytes);
}

/* ---- orders ---- */

static void show_action(const json_t *action, const cse_job_order *order, const char *job)
{
    printf("%s %s: %s\n", cse_json_text(action, "id", job), cse_json_text(action, "state", "?"),
           cse_json_text(action, "detail", order->command));
}

static cse_status order_over_api(cse_client *api, const cse_command_line *line,
                                 const cse_job_order *order)
{
    cse_text path = { 0 };
    char key[CSE_IDEMPOTENCY_KEY_BYTES];
    cse_client_answer answer = { 0 };
    const char *job = line->arguments[order->index];
    cse_new_idempotency_key(key);
    cse_status status = cse_client_job_path(&path, job, "/");
    if (status == CSE_OK) {
        cse_text_add(&path, "%s", order->command);
        const cse_client_request request = {
            .method = "POST", .path = path.data, .body = order->body, .idempotency_key = key
        };
        status = cse_client_ask(api, line, &request, true, &answer);
        if (status == CSE_OK && !cse_option_is_on(line, "json"))
            show_action(answer.json, order, job);
        cse_client_answer_clear(&answer);
    }
    cse_text_clear(&path);
    return status;
}

static cse_status order_to_run(const cse_command_line *line, const cse_job_order *order)
{
    json_t *action = NULL;
    const char *job = line->arguments[order->index];
    CSE_TRY(cse_run_command(job, order->command, order->body, &action));
    if (cse_option_is_on(line, "json")) {
        json_dumpf(action, stdout, JSON_COMPACT);
        putchar('\n');
    } else {
        show_action(action, order, job);
    }
    json_decref(action);
    return CSE_OK;
}

int cse_client_order(const cse_command_line *line, const cse_job_order *order)
{
    cse_status status;
    if (cse_names_run(line->arguments[order->index])) {
        status = order_to_run(line, order);
    } else {
        cse_client *api = NULL;
        curl_global_init(CURL_GLOBAL_DEFAULT);
        status = cse_client_open(line, &api);
        if (status == CSE_OK)
            status = order_over_api(api, line, order);
        cse_client_close(&api);
        curl_global_cleanup();
    }
    json_decref(order->body);
    return cse_report(status);
}

/* ---- members ---- */

const char *cse_json_text(const json_t *object, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : fallback;
}

double cse_json_real(const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

int64_t cse_json_whole(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}
