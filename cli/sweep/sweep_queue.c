/* A trial up to a rung is a job whose id is made of the sweep's name, the trial and the rung, so
 * that a sweep that was killed finds its jobs again: a PUT of the same job creates it once, and one
 * that asks for something else is refused. A job of a later rung starts from the last checkpoint of
 * that before it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client/client_command.h"
#include "cli/client/follow.h"
#include "cli/sweep/sweep_child.h"
#include "cli/sweep/sweep_trial.h"
#include "cli/terminal/json_values.h"

enum { POLL_US = 500000, MOST_CONFIG_BYTES = 1 << 20, HTTP_CONFLICT = 409 };

/* By value: jobs are asked for as long as they run, and an arena would grow by each time. */
typedef struct job_id {
    char text[80];
} job_id;

static job_id job_id_of(const cse_sweep_run *run, int trial, int rung)
{
    job_id id;
    snprintf(id.text, sizeof id.text, "%.40s-%04d-%d", run->state->plan->name, trial + 1, rung);
    return id;
}

static cse_status read_file(const char *path, cse_text *text)
{
    char buffer[4096];
    size_t size;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "%s cannot be opened: %s", path, strerror(errno));
    while ((size = fread(buffer, 1, sizeof buffer, file)) > 0 && text->size <= MOST_CONFIG_BYTES)
        cse_text_add_bytes(text, buffer, size);
    fclose(file);
    return text->size > 0 && text->size <= MOST_CONFIG_BYTES
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: a configuration is text of 1 to %d bytes", path,
                          MOST_CONFIG_BYTES);
}

static json_t *spec_of(const cse_sweep_run *run, const char *config, int trial, int rung)
{
    char number[16];
    const cse_sweep_plan *plan = run->state->plan;
    json_t *overrides = json_object();
    const char **settings = cse_sweep_settings(run, trial, rung, run->state->arena);
    for (; *settings != NULL; settings++) {
        const char *equals = strchr(*settings, '=');
        char *path =
            strndup(*settings, equals != NULL ? (size_t)(equals - *settings) : strlen(*settings));
        json_object_set_new(overrides, path, json_string(equals != NULL ? equals + 1 : ""));
        free(path);
    }
    snprintf(number, sizeof number, "%d", trial + 1);
    json_t *spec = json_pack("{s:s, s:o, s:{s:s, s:s}}", "config", config, "overrides", overrides,
                             "labels", "sweep", plan->name, "trial", number);
    if (rung > 0)
        json_object_set_new(spec, "resume_from",
                            json_pack("{s:s}", "job", job_id_of(run, trial, rung - 1).text));
    return spec;
}

static cse_status submit(const cse_sweep_run *run, const char *config, int trial, int rung)
{
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    const job_id id = job_id_of(run, trial, rung);
    json_t *spec = spec_of(run, config, trial, rung);
    cse_status status =
        spec != NULL ? cse_client_job_path(&path, id.text, "")
                     : cse_fail(CSE_DATA, "%s is no text in UTF-8", run->state->plan->config);
    if (status == CSE_OK)
        status = cse_client_call(
            run->api, &(cse_client_request){ .method = "PUT", .path = path.data, .body = spec },
            &answer);
    if (answer.status == HTTP_CONFLICT)
        status = cse_fail(CSE_FAILED,
                          "sweep: the server has a job %s already, of another sweep or of another "
                          "configuration; give this sweep another name",
                          id.text);
    json_decref(spec);
    cse_client_answer_clear(&answer);
    cse_text_clear(&path);
    return status;
}

/* The last value of the metric. */
static cse_status ask_value(const cse_sweep_run *run, int trial, int rung, double *value)
{
    cse_text rest = { 0 };
    cse_client_answer answer = { 0 };
    *value = NAN;
    cse_text_add(&rest, "/metrics?max_points=1000&names=");
    cse_url_encode(&rest, run->state->plan->metric);
    cse_status status =
        cse_client_get_job(run->api, job_id_of(run, trial, rung).text, rest.data, &answer);
    const json_t *series = json_object_get(answer.json, "series");
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *values = json_object_get(json_array_get(series, i), "value");
        for (size_t v = 0; v < json_array_size(values); v++)
            if (json_is_number(json_array_get(values, v)))
                *value = json_number_value(json_array_get(values, v));
    }
    cse_client_answer_clear(&answer);
    cse_text_clear(&rest);
    return status;
}

/* Whether the job has ended, and how. */
static cse_status look_at(const cse_sweep_run *run, int trial, int rung, bool *ended,
                          cse_sweep_result *result)
{
    cse_client_answer answer = { 0 };
    cse_status status = cse_client_get_job(run->api, job_id_of(run, trial, rung).text, "", &answer);
    const char *state = cse_json_text(answer.json, "state", "");
    const bool succeeded = strcmp(state, "SUCCEEDED") == 0;
    *ended = status == CSE_OK && cse_state_is_final(state);
    *result = (cse_sweep_result){
        .rung = rung,
        .failed = !succeeded,
        .value = NAN,
        .message = *ended ? cse_arena_printf(run->state->arena, "%s: %s", state,
                                             cse_json_text(answer.json, "message", ""))
                          : "",
    };
    cse_client_answer_clear(&answer);
    if (status == CSE_OK && succeeded)
        status = ask_value(run, trial, rung, &result->value);
    if (succeeded) {
        result->failed = isnan(result->value);
        result->message = result->failed ? "it has no value of the metric" : "";
    }
    return status;
}

static cse_status submit_all(const cse_sweep_run *run, const int *trials, int count, int rung)
{
    cse_text config = { 0 };
    cse_status status = read_file(run->state->plan->config, &config);
    cse_client_name_source(run->api, run->state->plan->config);
    for (int i = 0; i < count && status == CSE_OK && !cse_sweep_is_interrupted(); i++) {
        status = submit(run, config.data, trials[i], rung);
        /* A configuration that the server refuses is this trial's failure. */
        if (status == CSE_CONFIG) {
            const cse_sweep_result refused = { .rung = rung,
                                               .failed = true,
                                               .value = NAN,
                                               .message = cse_arena_string(run->state->arena,
                                                                           cse_error_message()) };
            status = cse_sweep_note(run, trials[i], &refused);
        } else if (status == CSE_OK && run->on_begin != NULL) {
            run->on_begin(run->self, trials[i], rung);
        }
    }
    cse_text_clear(&config);
    return status;
}

cse_status cse_sweep_train_queued(const cse_sweep_run *run, const int *trials, int count, int rung)
{
    CSE_TRY(submit_all(run, trials, count, rung));
    for (int open = count; open > 0;) {
        if (cse_sweep_is_interrupted())
            return cse_fail(CSE_INTERRUPTED, "interrupted; the jobs stay in the queue, and the "
                                             "same command goes on");
        open = 0;
        for (int i = 0; i < count; i++) {
            bool ended = false;
            cse_sweep_result result;
            if (run->state->results[trials[i]].rung >= rung)
                continue;
            CSE_TRY(look_at(run, trials[i], rung, &ended, &result));
            if (ended)
                CSE_TRY(cse_sweep_note(run, trials[i], &result));
            open += !ended;
        }
        if (open > 0 && !cse_sweep_is_interrupted())
            usleep(POLL_US);
    }
    return CSE_OK;
}
