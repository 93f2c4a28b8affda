/* The metric series of a run at the requested resolution. */
#include <stdlib.h>

#include "dashboard/data/curves.h"
#include "dashboard/queue/job_past.h"
#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"
#include "engine/base/json.h"

enum { MOST_NAMES = 101 };

static void take_name(void *self, const cse_row *row)
{
    cse_text *names = self;
    cse_text_add(names, "%s", names->size > 1 ? "," : "");
    cse_json_add_string(names, row->fields[1].text);
}

static void take_times(void *self, const cse_row *row)
{
    cse_text *times = self;
    cse_text_add(times, "%s{\"attempt\":%lld,\"start_ms\":%lld,\"end_ms\":%lld}",
                 times->size > 1 ? "," : "", (long long)row->fields[0].integer,
                 (long long)row->fields[1].integer, (long long)row->fields[2].integer);
}

/* What is read, of which steps. */
typedef struct reading {
    const cse_request *request;
    cse_curves *curves;
    cse_metrics_query query;
} reading;

/* The steps that both the request and the part have; false: there are none. */
static bool narrow(const reading *r, int64_t first, int64_t last, cse_metrics_query *query)
{
    *query = r->query;
    query->attempt = 0;
    query->first_step = first > query->first_step ? first : query->first_step;
    query->last_step =
        query->last_step == 0 || (last > 0 && last < query->last_step) ? last : query->last_step;
    return query->last_step == 0 || query->first_step <= query->last_step;
}

static void add_past(cse_text *more, const cse_job_past *past)
{
    cse_text_add(more, ",\"past\":{\"job\":");
    cse_json_add_string(more, past->job[0] != '\0' ? past->job : NULL);
    cse_text_add(more, ",\"model_dir\":");
    cse_json_add_string(more, past->model_dir[0] != '\0' ? past->model_dir : NULL);
    cse_text_add(more, ",\"last\":%lld}", (long long)past->last);
}

/* A part whose folder is gone is left out. */
static cse_status read_past(const reading *r, const cse_job_past *past)
{
    cse_readers *readers = r->request->server->readers;
    cse_store_reader *reader = NULL;
    cse_metrics_query query;
    cse_text more = { 0 };
    cse_status status = cse_readers_borrow(readers, past->source, &reader);
    if (status != CSE_OK)
        return status == CSE_NO_INPUT ? CSE_OK : status;
    add_past(&more, past);
    if (narrow(r, past->first, past->last, &query))
        status = cse_curves_read(r->curves, reader, &query, more.data);
    cse_readers_give_back(readers, past->source, &reader);
    cse_text_clear(&more);
    return status;
}

/* The oldest part first, then the run's own steps, and those of them that were done again. */
static cse_status read_history(reading *r, const cse_server_run *run)
{
    cse_job_past *pasts = cse_calloc(CSE_MOST_PASTS, sizeof *pasts);
    int64_t own = 1;
    int count = cse_job_pasts(r->request->server->jobs, &run->job, pasts, &own);
    cse_status status = CSE_OK;
    cse_metrics_query query;
    while (count > 0 && status == CSE_OK)
        status = read_past(r, &pasts[--count]);
    free(pasts);
    if (status == CSE_OK && narrow(r, own > 1 ? own : 0, 0, &query))
        status = cse_curves_read(r->curves, run->reader, &query, "");
    if (status == CSE_OK)
        status = cse_curves_read_replaced(r->curves, run->reader, &r->query, ",\"replaced\":true");
    return status;
}

static cse_status add_curves(const cse_request *request, const cse_server_run *run,
                             cse_curves_head *head, cse_curves *curves)
{
    const char *names[MOST_NAMES] = { NULL };
    const json_t *wanted = json_object_get(request->values, "names");
    cse_run_status status;
    for (size_t i = 0; i < json_array_size(wanted) && i + 1 < MOST_NAMES; i++)
        names[i] = json_string_value(json_array_get(wanted, i));
    reading r = { .request = request,
                  .curves = curves,
                  .query = { .names = wanted != NULL ? names : NULL,
                             .attempt = cse_request_integer(request, "attempt", 0),
                             .first_step = cse_request_integer(request, "from", 0),
                             .last_step = cse_request_integer(request, "to", 0),
                             .max_points = cse_request_integer(request, "max_points", 1000) } };
    /* Read first: an event that arrives meanwhile is sent twice rather than lost. */
    CSE_TRY(cse_newest_event(run->reader, &head->last_event_id));
    CSE_TRY(cse_store_reader_status(run->reader, &status));
    head->attempts = status.attempt;
    cse_text dropped = { 0 };
    if (cse_store_reader_key(run->reader, "dropped_series", &dropped))
        head->dropped_series = strtoll(dropped.data, NULL, 10);
    cse_text_clear(&dropped);
    return cse_request_bool(request, "history")
               ? read_history(&r, run)
               : cse_curves_read(curves, run->reader, &r.query, "");
}

static void get_metrics(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text names = { 0 }, times = { 0 }, out = { 0 };
    cse_curves_head head = { .attempts = 0 };
    bool binary = cse_request_accepts(request, "application/vnd.csengine.columns");
    if (!cse_server_open_run(request, answer, &run))
        return;
    cse_text_add(&names, "[");
    cse_status status = cse_store_reader_rows(
        run.reader, CSE_ROW_SERIES, &(cse_store_query){ .limit = 10000 }, take_name, &names);
    cse_text_add(&names, "]");
    cse_text_add(&times, "[");
    if (status == CSE_OK)
        status = cse_store_reader_rows(run.reader, CSE_ROW_GOODPUT,
                                       &(cse_store_query){ .limit = 10000 }, take_times, &times);
    cse_text_add(&times, "]");
    head.names = names.data;
    head.times = times.data;
    cse_curves *curves = cse_curves_new(binary, cse_request_bool(request, "history"));
    if (status == CSE_OK)
        status = add_curves(request, &run, &head, curves);
    cse_curves_end(&curves, &head, &out);
    if (status == CSE_OK)
        cse_answer_text(answer, 200,
                        binary ? "application/vnd.csengine.columns" : "application/json", &out);
    else
        cse_answer_failure(answer, status);
    cse_server_close_run(request, &run);
    cse_text_clear(&names);
    cse_text_clear(&times);
    cse_text_clear(&out);
}

static const char parameters[] =
    "names? [,string ..200] ..100  # comma-separated; absent: all\n"
    "  = [\"loss\"]\n"
    "from? integer 0..  # first step\n"
    "to? integer 0..  # last step\n"
    "max_points? integer 1..20000 = 1000  # rows for each series and attempt at most; where there "
    "are more points, neighbours are merged and more than half as many rows remain\n"
    "history? boolean  # the run as one history: the past that it shares with the run it was "
    "forked "
    "from, as series with past, its own steps behind that, and steps that a later start did again, "
    "as "
    "series with replaced; absent: what the run has of each step, once\n"
    "attempt\n";

static const char schemas[] =
    "SharedPast\n"
    "  job JobId|null  # whose steps these are; null: the run is no job here\n"
    "  model_dir string|null  # its folder, where it was forked from there\n"
    "  last integer 1..  # the step from which on the run went its own way\n"
    "MetricSeries  # Columns of equal length. Values that are not finite are null.\n"
    "  name string\n"
    "  attempt integer 0..\n"
    "  level integer 0..  # 0: single points; k: buckets of more than 8^(k-1) points, 8^k at most\n"
    "  bucket_points? integer 1..  # points in each bucket but the last; 1: single points\n"
    "  count integer 0..  # points in the asked range, before bucketing\n"
    "  step [integer]  # step of the point; of a bucket its first step\n"
    "  last_step? [integer]  # of each bucket; absent at level 0\n"
    "  time_ms? [integer|null]  # of the point; of a bucket its last\n"
    "  value [number|null]  # of the point; of a bucket its last value\n"
    "  minimum? [number|null]  # of each bucket's finite points; absent at level 0\n"
    "  maximum? [number|null]  # likewise\n"
    "  mean? [number|null]  # likewise\n"
    "  not_finite? [integer 0..]  # points of each bucket that are NaN or infinite; absent at "
    "level "
    "0\n"
    "  past? SharedPast  # with history: steps that are shared with another run\n"
    "  replaced? boolean  # with history: true where a later start did these steps again; no "
    "figure "
    "has them\n"
    "  = {\"name\": \"loss\", \"attempt\": 1, \"level\": 0, \"count\": 2, \"step\": [1, 2], "
    "\"time_ms\": [1700000000000, 1700000000020], \"value\": [2.3, 2.2]}\n"
    "AttemptTime  # When an attempt began, and when its time was last told.\n"
    "  attempt integer 1..\n"
    "  start_ms,end_ms time\n"
    "Metrics\n"
    "  series [MetricSeries]\n"
    "  names [string]  # every series of the run\n"
    "  attempts integer 0..\n"
    "  attempt_times [AttemptTime]  # oldest first\n"
    "  last_event_id integer 0..  # events up to this id are contained; subscribe from here\n"
    "  dropped_series integer 0..  # named values that each step has beyond those that are "
    "recorded (256)\n";

const cse_route cse_route_metrics = {
    .path = "/api/v1/jobs/{id}/metrics",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getMetrics", get_metrics,
                        "Series, bucketed so that minimum and maximum stay"),
          .parameters = parameters,
          .replies = "200 Metrics\n"
          "200 application/vnd.csengine.columns string  # 8 bytes: length of the JSON head, "
          "little-endian; the head (Metrics, each column as {offset, count} in doubles); spaces "
          "up to a multiple of 8; the columns as little-endian float64\n",
          .problems = "503" },
    },
};
