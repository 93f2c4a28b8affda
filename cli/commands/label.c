/* `csengine label`: changes the labels, the name and the priority of a job.
 *
 * The change applies to the job as it was read (If-Match); when another client changed it
 * meanwhile, it is read and changed again, so that no other change is lost. */
#include <stdio.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "cli/terminal/printing.h"

enum { ATTEMPTS = 5 };

/* "key=value" sets, "key-" removes. */
static cse_status add_label(json_t *labels, const char *word)
{
    size_t key = strcspn(word, "=");
    size_t length = strlen(word);
    char name[72];
    bool removes = word[key] == '\0' && length > 1 && word[length - 1] == '-';
    if (removes)
        key = length - 1;
    if (key == 0 || key > 64 || (word[key] != '=' && !removes))
        return cse_fail(CSE_USAGE,
                        "label: \"%.100s\" is no label; accepted: key=value to set, key- to remove",
                        word);
    snprintf(name, sizeof name, "%.*s", (int)key, word);
    json_object_set_new(labels, name, removes ? json_null() : json_string(word + key + 1));
    return CSE_OK;
}

static cse_status read_change(const cse_command_line *line, json_t *change)
{
    const char *name = cse_option_value(line, "name"), *priority;
    priority = cse_option_value(line, "priority");
    if (name != NULL)
        json_object_set_new(change, "name", json_string(name));
    if (priority != NULL)
        json_object_set_new(change, "priority", json_string(priority));
    json_t *labels = json_object();
    cse_status status = CSE_OK;
    for (int i = 1; i < line->argument_count && status == CSE_OK; i++)
        status = add_label(labels, line->arguments[i]);
    if (json_object_size(labels) > 0)
        json_object_set(change, "labels", labels);
    json_decref(labels);
    if (status == CSE_OK && json_object_size(change) == 0)
        return cse_fail(CSE_USAGE, "label: nothing to change: give key=value, key-, --priority or "
                                   "--name");
    return status;
}

static cse_status patch_once(cse_client *api, const cse_command_line *line, const char *path,
                             const json_t *change, cse_client_answer *answer)
{
    cse_client_answer job;
    cse_status status =
        cse_client_ask(api, line, &(cse_client_request){ .path = path }, false, &job);
    if (status == CSE_OK)
        status = cse_client_call(api,
                                 &(cse_client_request){ .method = "PATCH",
                                                        .path = path,
                                                        .body = change,
                                                        .body_type = "application/merge-patch+json",
                                                        .if_match = job.etag },
                                 answer);
    cse_client_answer_clear(&job);
    return status;
}

static void show(const cse_command_line *line, const cse_client_answer *answer)
{
    if (cse_option_is_on(line, "json")) {
        cse_json_print_text(answer->body.data != NULL ? answer->body.data : "");
        return;
    }
    const char *key;
    json_t *value, *labels = json_object_get(answer->json, "labels");
    cse_print("%s %s", cse_json_text(answer->json, "id", ""),
              cse_json_text(answer->json, "priority", ""));
    json_object_foreach(labels, key, value) cse_print(" %s=%s", key, json_string_value(value));
    putchar('\n');
}

static cse_status body(cse_client *api, const cse_command_line *line)
{
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    json_t *change = json_object();
    cse_status status = read_change(line, change);
    if (status == CSE_OK)
        status = cse_client_job_path(&path, line->arguments[0], "");
    for (int i = 0; i < ATTEMPTS && status == CSE_OK; i++) {
        cse_client_answer_clear(&answer);
        status = patch_once(api, line, path.data, change, &answer);
        if (answer.status != 412 || i + 1 == ATTEMPTS)
            break;
        status = CSE_OK;
    }
    if (status == CSE_OK || (answer.status != 0 && cse_option_is_on(line, "json")))
        show(line, &answer);
    cse_client_answer_clear(&answer);
    json_decref(change);
    cse_text_clear(&path);
    return status;
}

static int run(const cse_command_line *line)
{
    return cse_client_command(line, body);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "name", "TEXT", NULL, "a new name" },
    { "priority", "pN", NULL, "p0 (first) to p3" },
    { 0 },
};

const cse_command cse_command_label = {
    .name = "label",
    .group = CSE_GROUP_STEER,
    .summary = "changes the labels, the name and the priority of a job",
    .arguments = "JOB [KEY=VALUE|KEY-]...",
    .doc = "KEY=VALUE sets a label, KEY- removes one.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 65,
    .values = "priority=p0|p1|p2|p3",
    .run = run,
};
