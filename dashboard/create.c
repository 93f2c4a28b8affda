/* A body is a JobSpec, or the configuration itself with the rest in the query. */
#include "dashboard/create.h"

#include <string.h>

/* "key=value" words of the query as an object. */
static json_t *labels_from(const json_t *words)
{
    json_t *labels = json_object(), *one;
    size_t i;
    json_array_foreach(words, i, one)
    {
        const char *word = json_string_value(one), *equals = strchr(word, '=');
        char key[80];
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        if (length >= sizeof key)
            continue;
        memcpy(key, word, length);
        key[length] = '\0';
        json_object_set_new(labels, key, json_string(equals != NULL ? equals + 1 : ""));
    }
    return labels;
}

static json_t *spec_of(const cse_request *request)
{
    static const char *const switches[] = { "compile_only", "validate_only" };
    static const char *const texts[] = { "name", "priority" };
    if (request->body != NULL)
        return json_incref((json_t *)(uintptr_t)request->body);
    json_t *spec = json_object();
    json_object_set_new(spec, "config", json_string(request->body_text));
    for (size_t i = 0; i < 2; i++) {
        if (cse_request_bool(request, switches[i]))
            json_object_set_new(spec, switches[i], json_true());
        if (cse_request_has(request, texts[i]))
            json_object_set_new(spec, texts[i],
                                json_string(cse_request_text(request, texts[i], "")));
    }
    const json_t *labels = json_object_get(request->values, "label");
    if (labels != NULL)
        json_object_set_new(spec, "labels", labels_from(labels));
    return spec;
}

static void answer_faults(cse_answer *answer, json_t *faults)
{
    const json_t *first = json_array_get(faults, 0);
    const char *message = json_string_value(json_object_get(first, "message"));
    long long line = json_integer_value(json_object_get(first, "line"));
    long long column = json_integer_value(json_object_get(first, "column"));
    if (line > 0)
        cse_answer_faults(answer, CSE_PROBLEM_UNPROCESSABLE, json_incref(faults),
                          "the configuration is wrong at line %lld, column %lld: %s", line, column,
                          message);
    else
        cse_answer_faults(answer, CSE_PROBLEM_UNPROCESSABLE, json_incref(faults),
                          "the configuration is wrong: %s", message);
}

void cse_route_create_job(const cse_request *request, cse_answer *answer, const char *id)
{
    cse_job job = { .alive = false };
    json_t *spec = spec_of(request), *faults = json_array();
    const cse_job_request wanted = { .id = id, .spec = spec };
    cse_jobs *jobs = request->server->jobs;
    switch (cse_jobs_is_root(jobs) ? cse_jobs_create(jobs, &wanted, &job, faults) : CSE_JOB_ERROR) {
    case CSE_JOB_CREATED:
        cse_server_answer_job(request, &job, 201, answer);
        break;
    case CSE_JOB_KNOWN:
        cse_server_answer_job(request, &job, 200, answer);
        break;
    case CSE_JOB_TAKEN:
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT,
                           "there is a job \"%s\" already, and it was asked for differently", id);
        break;
    case CSE_JOB_WRONG:
        answer_faults(answer, faults);
        break;
    default:
        if (cse_jobs_is_root(jobs))
            cse_answer_failure(answer, id != NULL ? CSE_USAGE : CSE_UNAVAILABLE);
        else
            cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED,
                               "this server shows one run and has no queue; start one with "
                               "csengine serve --root DIR");
    }
    cse_job_release(&job);
    json_decref(spec);
    json_decref(faults);
}
