/* A body is a JobSpec, or the configuration itself with the rest in the query. */
#include "dashboard/routes/create.h"

#include "dashboard/checks/labels.h"
#include "dashboard/routes/route_support.h"

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
        json_object_set_new(spec, "labels", cse_labels_from_words(labels));
    return spec;
}

static void answer_diagnostics(cse_answer *answer, json_t *diagnostics)
{
    const json_t *first = json_array_get(diagnostics, 0);
    const char *message = json_string_value(json_object_get(first, "message"));
    long long line = json_integer_value(json_object_get(first, "line"));
    long long column = json_integer_value(json_object_get(first, "column"));
    if (line > 0)
        cse_answer_diagnostics(answer, CSE_PROBLEM_UNPROCESSABLE, json_incref(diagnostics),
                               "the configuration is wrong at line %lld, column %lld: %s", line,
                               column, message);
    else
        cse_answer_diagnostics(answer, CSE_PROBLEM_UNPROCESSABLE, json_incref(diagnostics),
                               "the configuration is wrong: %s", message);
}

static void answer_no_origin(cse_answer *answer, const json_t *spec, cse_status error)
{
    const char *message = cse_error_message();
    const char *pointer =
        json_object_get(spec, "fork_from") != NULL ? "/fork_from" : "/resume_from";
    if (error == CSE_NO_INPUT)
        cse_answer_diagnostics(answer, CSE_PROBLEM_UNPROCESSABLE,
                               json_pack("[{s:s, s:s}]", "pointer", pointer, "message", message),
                               "%s", message);
    else
        cse_answer_failure(answer, error);
}

void cse_route_create_spec(const cse_request *request, cse_answer *answer, const char *id,
                           const json_t *spec)
{
    cse_job job = { .alive = false };
    const cse_check_result found = { .diagnostics = json_array(), .warnings = json_array() };
    const cse_job_request wanted = {
        .id = id, .spec = spec, .grant = request->grant, .client = request->socket
    };
    cse_jobs *jobs = request->server->jobs;
    cse_status error = CSE_OK;
    switch (cse_jobs_create(jobs, &wanted, &job, &found, &error)) {
    case CSE_JOB_CREATED:
        job.warnings = found.warnings;
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
        answer_diagnostics(answer, found.diagnostics);
        break;
    case CSE_JOB_TOO_MANY:
        cse_answer_problem(answer, CSE_PROBLEM_TOO_MANY_REQUESTS, "%s", cse_error_message());
        break;
    case CSE_JOB_NO_ORIGIN:
        answer_no_origin(answer, spec, error);
        break;
    default:
        if (cse_jobs_is_root(jobs))
            cse_answer_failure(answer, error);
        else
            cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED, "%s", cse_error_message());
    }
    cse_job_release(&job);
    json_decref(found.diagnostics);
    json_decref(found.warnings);
}

void cse_route_create_job(const cse_request *request, cse_answer *answer, const char *id)
{
    json_t *spec = spec_of(request);
    cse_route_create_spec(request, answer, id, spec);
    json_decref(spec);
}
