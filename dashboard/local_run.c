/* Makes the state of a server that does not listen: one run as its only job, and its readers. */
#include "dashboard/local_run.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/server.h"
#include "engine/base/arena.h"
#include "engine/base/json_value.h"

struct cse_local_run {
    cse_server server;
    char id[128];
};

static bool take_id(void *self, const cse_job *job)
{
    cse_local_run *run = self;
    snprintf(run->id, sizeof run->id, "%s", job->record.id);
    return false;
}

cse_status cse_local_run_open(const char *model_dir, cse_local_run **result)
{
    cse_local_run *run = cse_calloc(1, sizeof *run);
    *result = run;
    run->server.readers = cse_readers_new();
    const cse_jobs_options options = { .run_dir = model_dir,
                                       .readers = run->server.readers,
                                       .read_only = true };
    cse_status status = cse_jobs_open(&options, &run->server.jobs);
    if (status == CSE_OK)
        cse_jobs_each(run->server.jobs, take_id, run);
    else
        cse_local_run_close(result);
    return status;
}

void cse_local_run_close(cse_local_run **run)
{
    if (*run == NULL)
        return;
    cse_jobs_close(&(*run)->server.jobs);
    cse_readers_destroy(&(*run)->server.readers);
    free(*run);
    *run = NULL;
}

const char *cse_local_run_id_view(const cse_local_run *run)
{
    return run->id;
}

static const cse_operation *find_operation(const char *id)
{
    for (const cse_route *const *route = cse_routes; *route != NULL; route++)
        for (const cse_operation *o = (*route)->operations; o->id != NULL; o++)
            if (strcmp(o->id, id) == 0)
                return o;
    return NULL;
}

/* Numbers as numbers, as the description of the API has them. */
static json_t *query_value(const char *text)
{
    bool is_number = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    return is_number ? json_integer(strtoll(text, NULL, 10)) : json_string(text);
}

/* "names[]=loss" is one value of a list. */
static void add_value(json_t *values, char *name, const char *value)
{
    const size_t length = strlen(name);
    if (length < 3 || strcmp(name + length - 2, "[]") != 0) {
        json_object_set_new(values, name, query_value(value));
        return;
    }
    name[length - 2] = '\0';
    if (json_object_get(values, name) == NULL)
        json_object_set_new(values, name, json_array());
    json_array_append_new(json_object_get(values, name), json_string(value));
}

static json_t *query_values(const char *id, const char *query)
{
    json_t *values = json_pack("{s:s}", "id", id);
    char *copy = cse_strdup(query), *rest = copy;
    while (rest != NULL && *rest != '\0') {
        char *value = strsep(&rest, "&"), *name = strsep(&value, "=");
        if (value != NULL)
            add_value(values, name, value);
    }
    free(copy);
    return values;
}

static cse_status take_answer(const cse_answer *answer, cse_text *body)
{
    const char *bytes = answer->fixed_body != NULL ? answer->fixed_body : answer->body.data;
    size_t size = answer->fixed_body != NULL ? answer->fixed_size : answer->body.size;
    if (answer->status == 200 && answer->stream == NULL && answer->file < 0) {
        if (size > 0)
            cse_text_add_bytes(body, bytes, size);
        return CSE_OK;
    }
    json_t *problem = size > 0 ? cse_json_from_others(bytes, (size_t)size) : NULL;
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    cse_status status = cse_fail(answer->status == 404 ? CSE_NO_INPUT : CSE_FAILED, "%s",
                                 detail != NULL ? detail : "the run store does not give that");
    json_decref(problem);
    return status;
}

cse_status cse_local_run_ask(cse_local_run *run, const char *operation_id, const char *query,
                             cse_text *body)
{
    const cse_operation *operation = find_operation(operation_id);
    cse_answer answer = { .file = -1 };
    if (operation == NULL)
        return cse_fail(CSE_INTERNAL, "the API has no operation %s", operation_id);
    json_t *values = query_values(run->id, query);
    const cse_request request = { .server = &run->server,
                                  .method = "GET",
                                  .path = "",
                                  .operation = operation,
                                  .values = values,
                                  .body_type = "",
                                  .peer = "",
                                  .accept = "application/json",
                                  .authorized = true };
    operation->handle(&request, &answer);
    cse_status status = take_answer(&answer, body);
    cse_answer_clear(&answer);
    json_decref(values);
    return status;
}
