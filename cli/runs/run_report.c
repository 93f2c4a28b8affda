/* Collects the API's responses that the dashboard's pages request. */
#include "cli/runs/run_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "cli/runs/downsample.h"
#include "engine/base/arena.h"

enum { MOST_PAGES = 20000, MOST_RECORDS = 5000 };

/* What the pages request of a job; `records`: the list that is split into pages. */
static const struct {
    cse_run_question question;
    const char *records;
    bool lines; /* lines of JSON, which become one string */
} parts[] = {
    { { "", "getJob", "" }, NULL, false },
    { { "/transitions", "listTransitions", "" }, NULL, false },
    { { "/metrics", "getMetrics", "max_points=2000" }, NULL, false },
    { { "/closures", "listClosures", "limit=1000&tail=1000" }, NULL, false },
    { { "/checkpoints", "listCheckpoints", "" }, NULL, false },
    { { "/alerts", "listAlerts", "" }, NULL, false },
    { { "/membership", "listMembershipChanges", "" }, NULL, false },
    { { "/notes", "listNotes", "" }, NULL, false },
    { { "/history", "getHistory", "" }, NULL, false },
    { { "/logs", "listLogs", "limit=1000&tail=10000" }, NULL, true },
    { { "/config", "getJobConfig", "" }, NULL, false },
    { { "/graph", "getGraph", "" }, NULL, false },
    { { "/precision", "getPrecision", "" }, NULL, false },
    { { "/topology", "getTopology", "samples=120" }, NULL, false },
    { { "/samples", "getSamples", "" }, NULL, false },
    { { "/data", "getData", "" }, NULL, false },
    { { "/goodput", "getGoodput", "" }, NULL, false },
    { { "/tensors", "listTensors", "" }, NULL, false },
    { { "/numerics", "getNumerics", "limit=1000" }, "records", false },
    { { "/trace", "getTrace", "" }, NULL, false },
    { { "/kernels", "getKernels", "" }, NULL, false },
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* Appends the records of further pages to the first and downsamples them, so that the report opens
 * quickly. */
static void add_pages(const cse_run_source *from, int part, json_t *first)
{
    const char *records = parts[part].records;
    cse_downsampler downsampled = { .most = MOST_RECORDS };
    char *token = cse_strdup(cse_json_text(first, "next_page_token", ""));
    cse_downsampler_add(&downsampled, json_object_get(first, records));
    for (int i = 0; i < MOST_PAGES && *token != '\0'; i++) {
        cse_text query = { 0 };
        cse_run_question question = parts[part].question;
        json_t *page = NULL;
        cse_text_add(&query, "%s&page_token=%s", question.query, token);
        question.query = query.data;
        cse_run_source_ask_json(from, &question, &page);
        cse_downsampler_add(&downsampled, json_object_get(page, records));
        free(token);
        token = cse_strdup(cse_json_text(page, "next_page_token", ""));
        json_decref(page);
        cse_text_clear(&query);
    }
    free(token);
    json_object_set_new(first, records, cse_downsampler_end(&downsampled));
    json_object_set_new(first, "next_page_token", json_null());
}

/* The response as a parsed value, so that an invalid one does not break the whole object. NULL when
 * there is none. */
static cse_status read_part(const cse_run_source *from, int part, json_t **value)
{
    cse_text body = { 0 };
    cse_status status = CSE_OK;
    *value = NULL;
    if (!parts[part].lines) {
        status = cse_run_source_ask_json(from, &parts[part].question, value);
    } else {
        status = cse_run_source_ask(from, &parts[part].question, &body);
        *value = status != CSE_OK ? NULL : json_stringn(body.data ? body.data : "", body.size);
    }
    if (*value != NULL && parts[part].records != NULL)
        add_pages(from, part, *value);
    cse_text_clear(&body);
    return status;
}

static int add_bytes(const char *bytes, size_t size, void *self)
{
    cse_text_add_bytes(self, bytes, size);
    return 0;
}

static void add_value(cse_text *data, const char *name, const json_t *value)
{
    cse_text_add(data, "%s\n\"%s\":", data->size > 1 ? "," : "", name);
    json_dump_callback(value, add_bytes, data,
                       JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
}

cse_status cse_report_read(const cse_run_source *from, cse_text *data)
{
    json_t *job = NULL;
    cse_status status = read_part(from, 0, &job);
    if (status == CSE_OK && job == NULL)
        status = cse_fail(CSE_DATA, "job %s: the answer is not JSON", from->id);
    CSE_TRY(status);
    cse_text_add(data, "{");
    for (int i = 0; i < PARTS; i++) {
        cse_text path = { 0 };
        json_t *value = NULL;
        if (i == 0)
            value = json_incref(job);
        else
            read_part(from, i, &value);
        if (value != NULL && cse_client_job_path(&path, from->id, parts[i].question.path) == CSE_OK)
            add_value(data, path.data, value);
        json_decref(value);
        cse_text_clear(&path);
    }
    json_t *list = json_pack("{s:[o], s:n, s:i}", "jobs", job, "next_page_token", "total", 1);
    add_value(data, "/api/v1/jobs", list);
    json_decref(list);
    cse_text_add(data, "\n}\n");
    return CSE_OK;
}
