/* Each question stands for itself: a run that has no sample of its processes has log lines. */
#include "cli/top/top_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "run/control/run_command.h"

enum { MOST_JOBS = 200, MOST_POINTS = 2 * CSE_TOP_POINTS * 8 };

cse_status cse_top_data_open(const cse_command_line *line, cse_top_data *data)
{
    const char *name = line->argument_count > 0 ? line->arguments[0] : NULL;
    memset(data, 0, sizeof *data);
    snprintf(data->series, sizeof data->series, "loss");
    if (name != NULL && cse_names_run(name)) {
        CSE_TRY(cse_run_source_open(line, name, &data->from));
        snprintf(data->server, sizeof data->server, "%s", name);
        return CSE_OK;
    }
    CSE_TRY(cse_client_open(line, &data->from.client));
    snprintf(data->server, sizeof data->server, "%s", cse_client_server_view(data->from.client));
    return CSE_OK;
}

static void forget_job(cse_top_data *data)
{
    json_decref(data->topology);
    json_decref(data->lines);
    json_decref(data->names);
    data->topology = data->lines = data->names = NULL;
    data->count = 0;
}

void cse_top_data_close(cse_top_data *data)
{
    forget_job(data);
    json_decref(data->jobs);
    data->jobs = NULL;
    cse_run_source_close(&data->from);
}

/* ---- jobs ---- */

static cse_status ask_server(cse_top_data *data, json_t **answer)
{
    cse_text path = { 0 };
    cse_client_answer got = { 0 };
    cse_text_add(&path, "/api/v1/jobs?limit=%d", MOST_JOBS);
    if (data->where[0] != '\0') {
        cse_text_add(&path, "&where=");
        cse_url_encode(&path, data->where);
    }
    cse_status status =
        cse_client_call(data->from.client, &(cse_client_request){ .path = path.data }, &got);
    if (status == CSE_OK)
        *answer = json_incref(got.json);
    cse_client_answer_clear(&got);
    cse_text_clear(&path);
    return status;
}

static cse_status ask_run(cse_top_data *data, json_t **answer)
{
    json_t *job = NULL;
    CSE_TRY(cse_run_source_ask_json(&data->from, &(cse_run_question){ "", "getJob", NULL }, &job));
    *answer = json_pack("{s:[o], s:i}", "jobs", job, "total", 1);
    return CSE_OK;
}

static bool has_job(const json_t *jobs, const char *id)
{
    size_t i;
    json_t *job;
    json_array_foreach(jobs, i, job) if (strcmp(cse_json_text(job, "id", ""), id) == 0) return true;
    return false;
}

/* The job that was asked for by name, where it is not among those of the list. */
static cse_status add_asked(cse_top_data *data, json_t *jobs)
{
    cse_client_answer answer = { 0 };
    if (data->asked[0] == '\0' || has_job(jobs, data->asked))
        return CSE_OK;
    const cse_status status = cse_client_get_job(data->from.client, data->asked, "", &answer);
    if (status == CSE_OK)
        json_array_append(jobs, answer.json);
    cse_client_answer_clear(&answer);
    return status;
}

cse_status cse_top_data_read_jobs(cse_top_data *data)
{
    json_t *answer = NULL;
    cse_status status = data->from.run != NULL ? ask_run(data, &answer) : ask_server(data, &answer);
    data->error[0] = '\0';
    json_t *jobs = json_object_get(answer, "jobs");
    if (status == CSE_OK && data->from.run == NULL)
        status = add_asked(data, jobs);
    if (status != CSE_OK) {
        snprintf(data->error, sizeof data->error, "%s", cse_error_message());
        json_decref(answer);
        return status;
    }
    json_decref(data->jobs);
    data->jobs = json_is_array(jobs) ? json_incref(jobs) : json_array();
    data->total = cse_json_whole(answer, "total", (int64_t)json_array_size(data->jobs));
    json_decref(answer);
    return CSE_OK;
}

/* ---- one job ---- */

static json_t *ask(cse_top_data *data, const cse_run_question *question)
{
    json_t *answer = NULL;
    if (cse_run_source_ask_json(&data->from, question, &answer) != CSE_OK) {
        json_decref(answer);
        return NULL;
    }
    return answer;
}

static double number_at(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The points of all attempts, of buckets their means. */
static void take_points(cse_top_data *data, const json_t *metrics)
{
    size_t s;
    json_t *series;
    json_array_foreach(json_object_get(metrics, "series"), s, series)
    {
        const json_t *steps = json_object_get(series, "step");
        const json_t *means = json_object_get(series, "mean");
        const json_t *values = means != NULL ? means : json_object_get(series, "value");
        for (size_t i = 0; i < json_array_size(steps) && data->count < MOST_POINTS; i++) {
            data->steps[data->count] = number_at(steps, i);
            data->values[data->count++] = number_at(values, i);
        }
    }
    json_t *names = json_object_get(metrics, "names");
    data->names = names != NULL ? json_incref(names) : NULL;
}

static void read_points(cse_top_data *data)
{
    cse_text query = { 0 };
    cse_text_add(&query, "max_points=%d&", CSE_TOP_POINTS);
    cse_text_add(&query, data->from.client != NULL ? "names=" : "names[]=%s", data->series);
    if (data->from.client != NULL)
        cse_url_encode(&query, data->series);
    json_t *metrics = ask(data, &(cse_run_question){ "/metrics", "getMetrics", query.data });
    take_points(data, metrics);
    json_decref(metrics);
    cse_text_clear(&query);
}

static void read_topology(cse_top_data *data)
{
    json_t *answer = ask(data, &(cse_run_question){ "/topology", "getTopology", "samples=1" });
    json_t *samples = json_object_get(answer, "samples");
    json_t *newest = json_array_get(samples, json_array_size(samples) - 1);
    data->topology = newest != NULL ? json_incref(newest) : NULL;
    json_decref(answer);
}

static void read_lines(cse_top_data *data)
{
    char query[64];
    cse_text body = { 0 };
    snprintf(query, sizeof query, "limit=%d&tail=%d", CSE_TOP_LOGS, CSE_TOP_LOGS);
    data->lines = json_array();
    if (cse_run_source_ask(&data->from, &(cse_run_question){ "/logs", "listLogs", query }, &body) ==
        CSE_OK)
        for (char *rest = body.data, *text; rest != NULL && (text = strsep(&rest, "\n")) != NULL;) {
            json_t *line = *text != '\0' ? cse_json_from_others(text, strlen(text)) : NULL;
            if (line != NULL)
                json_array_append_new(data->lines, line);
        }
    cse_text_clear(&body);
}

void cse_top_data_read_job(cse_top_data *data, const char *job)
{
    forget_job(data);
    snprintf(data->job, sizeof data->job, "%s", job);
    if (data->from.client != NULL)
        data->from.id = data->job;
    if (*job == '\0')
        return;
    read_points(data);
    read_topology(data);
    read_lines(data);
}
