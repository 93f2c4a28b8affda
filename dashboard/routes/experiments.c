/* Runs as a table: what differs between them, and figures over groups. */
#include "dashboard/query/table.h"
#include "dashboard/queue/job_values.h"
#include "dashboard/routes/route_support.h"
#include "dashboard/routes/where.h"

enum { MOST_RUNS = 5000 };

typedef struct collection {
    const cse_request *request;
    cse_where where;
    json_t *runs;
    int64_t total;
} collection;

static bool take_job(void *self, const cse_job *job)
{
    collection *c = self;
    cse_jobs *jobs = c->request->server->jobs;
    json_t *shown = cse_job_json(jobs, job), *values = cse_job_values(jobs, job);
    if (cse_where_holds(&c->where, shown, values)) {
        c->total++;
        if (json_array_size(c->runs) < MOST_RUNS)
            json_array_append_new(c->runs, json_pack("{s:O, s:O}", "job", shown, "values", values));
    }
    json_decref(shown);
    json_decref(values);
    return true;
}

static void get_experiments(const cse_request *request, cse_answer *answer)
{
    collection c = { .request = request };
    const json_t *by = json_object_get(request->values, "group_by");
    const json_t *asked = json_object_get(request->values, "columns");
    if (!cse_where_read(request, answer, &c.where))
        return;
    c.runs = json_array();
    cse_jobs_each(request->server->jobs, take_job, &c);
    if (cse_where_end(&c.where, answer)) {
        json_t *columns = asked != NULL ? json_deep_copy(asked) : cse_table_columns(c.runs);
        json_t *rows = cse_table_rows(c.runs, columns);
        json_t *groups = by != NULL ? cse_table_groups(c.runs, columns, by) : json_null();
        cse_answer_json(answer, 200,
                        json_pack("{s:I, s:o, s:o, s:o}", "total", (json_int_t)c.total, "columns",
                                  columns, "rows", rows, "groups", groups));
    }
    json_decref(c.runs);
}

static const char parameters[] = CSE_WHERE_PARAMETER
    "columns? [,string 1..200] ..100  # names as in where; absent: the settings that differ "
    "between the runs, labels, and series\n"
    "  = [\"optimizer.SGD.lr\", \"min(val_loss)\"]\n"
    "group_by? [,string 1..200] ..5  # names in which the runs of a group are alike\n"
    "  = [\"optimizer.SGD.lr\"]\n";

static const char schemas[] =
    "ExperimentRow\n"
    "  id JobId\n"
    "  name string\n"
    "  state State\n"
    "  values [number|string|null]  # one for each column; null: the run has none\n"
    "ExperimentFigures  # Of the runs that have a number.\n"
    "  mean,minimum,maximum number\n"
    "  deviation number|null  # of a sample; null: of one run there is none\n"
    "  count integer 1..\n"
    "ExperimentGroup\n"
    "  key [number|string|null]  # in the order of group_by\n"
    "  count integer 1..  # runs\n"
    "  columns [ExperimentFigures|null]  # null: no number\n"
    "Experiments\n"
    "  total integer 0..  # runs for which where holds; the rows are of the newest 5000\n"
    "  columns [string]\n"
    "  rows [ExperimentRow]  # newest first\n"
    "  groups [ExperimentGroup]|null  # null: none were asked for\n";

const cse_route cse_route_experiments = {
    .path = "/api/v1/experiments",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getExperiments", get_experiments,
                        "Runs by their settings and figures: what differs, and means over groups"),
          .parameters = parameters,
          .replies = "200 Experiments" },
    },
};
