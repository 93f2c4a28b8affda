/* The small curves of a list of jobs: one series of each, in one request. */
#include <math.h>

#include "dashboard/routes/route_support.h"

typedef struct small_curve {
    json_t *step, *value;
} small_curve;

/* Buckets by the mean of their finite points, as the pages draw them. */
static void take_row(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    const small_curve *c = self;
    if (row == NULL)
        return;
    const double mean = row->finite > 0 ? row->sum / (double)row->finite : (double)NAN;
    const double value = curve->level > 0 ? mean : row->last;
    json_array_append_new(c->step, json_integer(row->first_step));
    json_array_append_new(c->value, isfinite(value) ? json_real(value) : json_null());
}

/* Empty where the job has not run yet, or its folder was removed. */
static json_t *curve_of(const cse_request *request, const char *id, const cse_job *job)
{
    const char *const names[] = { cse_request_text(request, "name", "loss"), NULL };
    const cse_metrics_query query = { .names = names,
                                      .max_points =
                                          cse_request_integer(request, "max_points", 60) };
    cse_store_reader *reader = NULL;
    small_curve c = { json_array(), json_array() };
    cse_status status =
        cse_readers_borrow(request->server->readers, job->record.model_dir, &reader);
    if (status == CSE_OK) {
        status = cse_store_reader_metrics(reader, &query, take_row, &c);
        cse_readers_give_back(request->server->readers, job->record.model_dir, &reader);
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "id", id, "step", c.step, "value", c.value, "message",
                     status == CSE_OK || status == CSE_NO_INPUT ? json_null()
                                                                : json_string(cse_error_message()));
}

static void list_small_curves(const cse_request *request, cse_answer *answer)
{
    size_t i;
    json_t *id, *list = json_array();
    json_array_foreach(json_object_get(request->values, "jobs"), i, id)
    {
        cse_job job;
        const char *name = json_string_value(id);
        if (!cse_jobs_find(request->server->jobs, name, &job))
            continue; /* it was deleted since the list was read */
        json_array_append_new(list, curve_of(request, name, &job));
        cse_job_release(&job);
    }
    cse_answer_json(answer, 200, json_pack("{s:o}", "curves", list));
}

static const char parameters[] =
    "jobs [,JobId] 1..200  # comma-separated; one that is not there is left out of the answer\n"
    "name? string ..200 = loss  # of the series\n"
    "max_points? integer 1..200 = 60  # of each attempt at most; more are merged\n";

static const char schemas[] =
    "SmallCurve\n"
    "  id JobId\n"
    "  step [integer]  # of each point, or the first of those that were merged\n"
    "  value [number|null]  # of each point, or the mean of those that were merged; null: no "
    "number\n"
    "  message string|null  # why it could not be read\n"
    "SmallCurves\n"
    "  curves [SmallCurve]  # in the order in which they were asked for\n";

const cse_route cse_route_small_curves = {
    .path = "/api/v1/small-curves",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listSmallCurves", list_small_curves,
                        "One series of each of many jobs, small enough for a list"),
          .parameters = parameters,
          .replies = "200 SmallCurves",
          .problems = "503" },
    },
};
