/* The steps that commands over the API share. */
#include "cli/client/client_command.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/control/run_command.h"

int cse_client_command(const cse_command_line *line, cse_client_body *body)
{
    cse_client *api = NULL;
    cse_status status = cse_client_open(line, &api);
    if (status == CSE_OK)
        status = body(api, line);
    cse_client_close(&api);
    return cse_report(status);
}

void cse_client_show_body(const cse_client_answer *answer)
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
        cse_client_show_body(answer);
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

cse_status cse_client_get_job(cse_client *api, const char *id, const char *rest,
                              cse_client_answer *answer)
{
    cse_text path = { 0 };
    *answer = (cse_client_answer){ 0 };
    cse_status status = cse_client_job_path(&path, id, rest);
    if (status == CSE_OK)
        status = cse_client_call(api, &(cse_client_request){ .path = path.data }, answer);
    cse_text_clear(&path);
    return status;
}

void cse_new_idempotency_key(char key[CSE_IDEMPOTENCY_KEY_BYTES])
{
    unsigned char bytes[(CSE_IDEMPOTENCY_KEY_BYTES - 1) / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(key, CSE_IDEMPOTENCY_KEY_BYTES, bytes, sizeof bytes);
}

/* ---- commands to a job ---- */

static void show_action(const json_t *action, const cse_job_command *command)
{
    cse_print("%s %s: %s\n", cse_json_text(action, "id", command->job),
              cse_json_text(action, "state", "?"), cse_json_text(action, "detail", command->name));
}

static cse_status send_to_server(cse_client *api, const cse_command_line *line,
                                 const cse_job_command *command)
{
    cse_text path = { 0 };
    char key[CSE_IDEMPOTENCY_KEY_BYTES];
    cse_client_answer answer = { 0 };
    cse_new_idempotency_key(key);
    cse_status status = cse_client_job_path(&path, command->job, "/");
    if (status == CSE_OK) {
        cse_text_add(&path, "%s", command->name);
        const cse_client_request request = {
            .method = "POST", .path = path.data, .body = command->body, .idempotency_key = key
        };
        status = cse_client_ask(api, line, &request, true, &answer);
        if (status == CSE_OK && !cse_option_is_on(line, "json"))
            show_action(answer.json, command);
        cse_client_answer_clear(&answer);
    }
    cse_text_clear(&path);
    return status;
}

static cse_status send_to_run(const cse_command_line *line, const cse_job_command *command)
{
    json_t *action = NULL;
    CSE_TRY(cse_run_command(command->job, command->name, command->body, &action));
    if (cse_option_is_on(line, "json"))
        cse_json_print(action);
    else
        show_action(action, command);
    json_decref(action);
    return CSE_OK;
}

int cse_send_job_command(const cse_command_line *line, const cse_job_command *command)
{
    cse_status status;
    if (cse_names_run(command->job)) {
        status = send_to_run(line, command);
    } else {
        cse_client *api = NULL;
        status = cse_client_open(line, &api);
        if (status == CSE_OK)
            status = send_to_server(api, line, command);
        cse_client_close(&api);
    }
    json_decref(command->body);
    return cse_report(status);
}

int cse_run_job_command(const cse_command_line *line)
{
    const char *message = cse_option_value(line, "message");
    return cse_send_job_command(
        line,
        &(cse_job_command){ .name = line->command->name,
                            .job = line->arguments[0],
                            .body = message ? json_pack("{s:s}", "message", message) : NULL });
}
