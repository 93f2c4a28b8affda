/* The same answers whether they come from a server or from the run store: without a server, the
 * routes' own functions are called in this process (local_run.h). */
#include "cli/run_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client_command.h"
#include "cli/downsample.h"
#include "cli/local_run.h"
#include "dashboard/web_files.h"
#include "engine/base/arena.h"

enum { MOST_PAGES = 20000, MOST_RECORDS = 5000 };

/* What the pages ask for of a job, and with which query; `records`: the list that goes on over
 * pages. */
static const struct {
    const char *rest, *query, *operation, *records;
    bool lines; /* lines of JSON, which become one string */
} parts[] = {
    { "", "", "getJob", NULL, false },
    { "/transitions", "", "listTransitions", NULL, false },
    { "/metrics", "max_points=2000", "getMetrics", NULL, false },
    { "/closures", "limit=1000&tail=1000", "listClosures", NULL, false },
    { "/checkpoints", "", "listCheckpoints", NULL, false },
    { "/logs", "limit=1000&tail=10000", "listLogs", NULL, true },
    { "/config", "", "getJobConfig", NULL, false },
    { "/graph", "", "getGraph", NULL, false },
    { "/precision", "", "getPrecision", NULL, false },
    { "/topology", "samples=120", "getTopology", NULL, false },
    { "/numerics", "limit=1000", "getNumerics", "records", false },
    { "/trace", "", "getTrace", NULL, false },
    { "/kernels", "", "getKernels", NULL, false },
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* Where answers come from. */
typedef struct source {
    cse_client *client; /* or */
    cse_local_run *run;
    const char *id;
} source;

static cse_status ask_server(const source *from, const char *rest, const char *query,
                             cse_text *body)
{
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    cse_status status = cse_client_job_path(&path, from->id, rest);
    if (status == CSE_OK) {
        cse_text_add(&path, "%s%s", *query != '\0' ? "?" : "", query);
        status = cse_client_call(from->client, &(cse_client_request){ .path = path.data }, &answer);
    }
    if (status == CSE_OK && answer.body.size > 0)
        cse_text_add_bytes(body, answer.body.data, answer.body.size);
    cse_client_answer_clear(&answer);
    cse_text_clear(&path);
    return status;
}

/* ---- the object ---- */

static bool ask(const source *from, int part, const char *query, cse_text *body)
{
    if (from->run != NULL)
        return cse_local_run_ask(from->run, parts[part].operation, query, body) == CSE_OK;
    return ask_server(from, parts[part].rest, query, body) == CSE_OK;
}

/* The pages after the first, joined to it, and downsampled out: the page must open quickly. */
static void add_pages(const source *from, int part, json_t *first)
{
    cse_downsampler downsampled = { .most = MOST_RECORDS };
    char *token = cse_strdup(cse_json_text(first, "next_page_token", ""));
    cse_downsampler_add(&downsampled, json_object_get(first, parts[part].records));
    for (int i = 0; i < MOST_PAGES && *token != '\0'; i++) {
        cse_text query = { 0 }, body = { 0 };
        cse_text_add(&query, "%s&page_token=%s", parts[part].query, token);
        bool found = ask(from, part, query.data, &body);
        json_t *page = found && body.size > 0 ? json_loadb(body.data, body.size, 0, NULL) : NULL;
        cse_downsampler_add(&downsampled, json_object_get(page, parts[part].records));
        free(token);
        token = cse_strdup(cse_json_text(page, "next_page_token", ""));
        json_decref(page);
        cse_text_clear(&query);
        cse_text_clear(&body);
    }
    free(token);
    json_object_set_new(first, parts[part].records, cse_downsampler_end(&downsampled));
    json_object_set_new(first, "next_page_token", json_null());
}

/* The answer as a value of the object: checked, so that one that is broken does not break the
 * whole. NULL when there is none. */
static json_t *read_part(const source *from, int part)
{
    cse_text body = { 0 };
    json_t *value = NULL;
    if (ask(from, part, parts[part].query, &body)) {
        const char *bytes = body.data != NULL ? body.data : "";
        value = parts[part].lines ? json_stringn(bytes, body.size)
                                  : json_loadb(bytes, body.size, JSON_DECODE_ANY, NULL);
    }
    if (value != NULL && parts[part].records != NULL)
        add_pages(from, part, value);
    cse_text_clear(&body);
    return value;
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

static cse_status read_all(const source *from, cse_text *data)
{
    json_t *job = NULL;
    cse_text_add(data, "{");
    for (int i = 0; i < PARTS; i++) {
        cse_text name = { 0 };
        json_t *value = read_part(from, i);
        CSE_TRY(cse_client_job_path(&name, from->id, parts[i].rest));
        if (value != NULL)
            add_value(data, name.data, value);
        if (i == 0)
            job = json_incref(value);
        json_decref(value);
        cse_text_clear(&name);
        if (job == NULL)
            return cse_fail(CSE_NO_INPUT, "job %s: %s", from->id, cse_error_message());
    }
    json_t *list = json_pack("{s:[o], s:n, s:i}", "jobs", job, "next_page_token", "total", 1);
    add_value(data, "/api/v1/jobs", list);
    json_decref(list);
    cse_text_add(data, "\n}\n");
    return CSE_OK;
}

cse_status cse_report_read_job(cse_client *client, const char *id, cse_text *data)
{
    cse_text job = { 0 };
    const source from = { .client = client, .id = id };
    cse_status status =
        ask_server(&from, "", "", &job); /* with its own words when it is not there */
    cse_text_clear(&job);
    return status == CSE_OK ? read_all(&from, data) : status;
}

cse_status cse_report_read_run(const char *model_dir, cse_text *data)
{
    cse_local_run *run = NULL;
    CSE_TRY(cse_local_run_open(model_dir, &run));
    cse_status status = read_all(&(source){ .run = run, .id = cse_local_run_id_view(run) }, data);
    cse_local_run_close(&run);
    return status;
}

/* ---- the page ---- */

static const cse_web_file *find_template(const cse_web_file *files)
{
    for (const cse_web_file *file = files; file != NULL && file->path != NULL; file++)
        if (strcmp(file->path, "/report.html") == 0)
            return file;
    return NULL;
}

/* A script's text must not hold "</script": no "<" at all. */
static void add_escaped(cse_text *page, const cse_text *data)
{
    const char *at = data->data, *end = data->data + data->size;
    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));
        cse_text_add_bytes(page, at, (size_t)((next != NULL ? next : end) - at));
        if (next == NULL)
            return;
        cse_text_add_bytes(page, "\\u003c", 6);
        at = next + 1;
    }
}

static cse_status fill(const cse_web_file *files, const cse_text *data, cse_text *page)
{
    static const char place[] = "@CSENGINE_REPORT_DATA@";
    const cse_web_file *file = find_template(files);
    cse_text template = { 0 };
    if (file == NULL)
        return cse_fail(CSE_UNAVAILABLE,
                        "this csengine was built without pages: install nodejs and npm, configure "
                        "--with-web=yes and make; --json writes the data alone");
    bool whole = cse_web_file_unpack(file, &template);
    const char *at = whole ? strstr(template.data, place) : NULL;
    if (at != NULL) {
        cse_text_add_bytes(page, template.data, (size_t)(at - template.data));
        add_escaped(page, data);
        at += strlen(place);
        cse_text_add_bytes(page, at, strlen(at));
    }
    cse_text_clear(&template);
    return at != NULL ? CSE_OK : cse_fail(CSE_INTERNAL, "the report's page has no place for data");
}

cse_status cse_report_fill(const cse_text *data, cse_text *page)
{
    return fill(cse_web_files, data, page);
}
