/* Runs as a table: what differs between them, and figures over groups. */
#include <string.h>

#include "dashboard/query/table.h"
#include "dashboard/query/table_csv.h"
#include "dashboard/queue/job_values.h"
#include "dashboard/routes/chosen.h"
#include "dashboard/routes/route_support.h"

enum { MOST_RUNS = 5000 };

typedef struct collection {
    const cse_request *request;
    cse_where where;
    json_t *runs;
    int64_t total;
    int64_t step;         /* of at(SERIES); 0: none was asked for */
    json_t *at;           /* the series of which it is asked */
    const char *baseline; /* a job, or NULL */
    json_t *from;         /* that job as one of `runs`, whether or not the condition holds; NULL */
    json_t *named;        /* of routes/chosen.h */
} collection;

static bool take_job(void *self, const cse_job *job)
{
    collection *c = self;
    cse_jobs *jobs = c->request->server->jobs;
    const bool is_baseline = c->baseline != NULL && strcmp(job->record.id, c->baseline) == 0;
    const bool asked = cse_chosen_asks(c->named, job->record.id);
    if (!asked && !is_baseline)
        return true;
    json_t *shown = cse_job_json(jobs, job), *values = cse_job_values(jobs, job);
    if (c->step > 0) {
        json_t *at = cse_job_values_at(jobs, job, c->step, c->at, values);
        json_decref(values);
        values = at;
    }
    json_t *run = json_pack("{s:o, s:o}", "job", shown, "values", values);
    if (is_baseline)
        c->from = json_incref(run);
    if (asked && cse_where_holds(&c->where, shown, values)) {
        c->total++;
        if (json_array_size(c->runs) < MOST_RUNS)
            json_array_append(c->runs, run);
    }
    json_decref(run);
    return true;
}

/* ---- what is asked of one step ---- */

/* Each SERIES of "at(SERIES)" in a text. */
static void add_series(json_t *names, const char *text)
{
    for (const char *at = text; (at = strcasestr(at, "at(")) != NULL; at++) {
        const size_t length = strcspn(at + 3, ")");
        if (at[3 + length] == ')')
            json_array_append_new(names, json_stringn(at + 3, length));
    }
}

static json_t *series_at(const cse_request *request)
{
    static const char *const lists[] = { "columns", "group_by" }, *const texts[] = { "where",
                                                                                     "sort" };
    json_t *names = json_array(), *one;
    size_t i;
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++)
        json_array_foreach(json_object_get(request->values, lists[l]), i, one)
            add_series(names, json_string_value(one));
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        add_series(names, cse_request_text(request, texts[t], ""));
    return names;
}

static bool read_step(collection *c, cse_answer *answer)
{
    c->step = cse_request_integer(c->request, "at_step", 0);
    c->at = series_at(c->request);
    if (json_array_size(c->at) == 0 || c->step > 0)
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST,
                       "at(%.100s) needs a step: send at_step=STEP, or ask for last(...), min(...) "
                       "or max(...)",
                       json_string_value(json_array_get(c->at, 0)));
    return false;
}

/* ---- the answer ---- */

static void sort_runs(collection *c)
{
    const char *sort = cse_request_text(c->request, "sort", "");
    if (*sort == '\0')
        return;
    const bool down = *sort == '-';
    json_t *sorted = cse_table_sorted(c->runs, sort + down, down);
    json_decref(c->runs);
    c->runs = sorted;
}

static json_t *baseline_row(const collection *c, const json_t *columns)
{
    if (c->from == NULL)
        return json_null();
    json_t *alone = json_pack("[O]", c->from), *rows = cse_table_rows(alone, columns, NULL);
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(alone);
    json_decref(rows);
    return row;
}

static void answer_table(collection *c, cse_answer *answer)
{
    const json_t *by = json_object_get(c->request->values, "group_by");
    const json_t *asked = json_object_get(c->request->values, "columns");
    sort_runs(c);
    json_t *names = cse_table_names(c->runs);
    json_t *columns = asked != NULL ? json_deep_copy(asked) : cse_table_columns(names);
    json_t *rows = cse_table_rows(c->runs, columns, c->from);
    json_t *groups = by != NULL ? cse_table_groups(c->runs, columns, by) : json_null();
    json_t *table = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "total", (json_int_t)c->total,
                              "columns", columns, "names", names, "rows", rows, "groups", groups,
                              "baseline", baseline_row(c, columns));
    if (strcmp(cse_request_text(c->request, "format", "json"), "csv") != 0) {
        cse_answer_json(answer, 200, table);
        return;
    }
    cse_text csv = { 0 };
    cse_table_csv(table, by, &csv);
    json_decref(table);
    cse_answer_text(answer, 200, "text/csv", &csv);
    cse_answer_header(answer, "Content-Disposition", "attachment; filename=\"experiments.csv\"");
}

static bool has_baseline(const collection *c, cse_answer *answer)
{
    if (c->baseline == NULL || c->from != NULL)
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                       "there is no job \"%s\" to take as the baseline", c->baseline);
    return false;
}

static void get_experiments(const cse_request *request, cse_answer *answer)
{
    collection c = { .request = request, .baseline = cse_request_text(request, "baseline", NULL) };
    if (read_step(&c, answer) && cse_where_read(request, answer, &c.where)) {
        c.runs = json_array();
        c.named = cse_chosen_read(request);
        cse_jobs_each(request->server->jobs, take_job, &c);
        if (cse_where_end(&c.where, answer) && cse_chosen_all_met(c.named, answer) &&
            has_baseline(&c, answer))
            answer_table(&c, answer);
    }
    json_decref(c.runs);
    json_decref(c.at);
    json_decref(c.from);
    json_decref(c.named);
}

static const char parameters[] = CSE_WHERE_PARAMETER
    "columns? [,string 1..200] ..100  # names as in where; absent: the settings that differ "
    "between the runs, labels, and series\n"
    "  = [\"optimizer.SGD.lr\", \"min(val_loss)\"]\n" CSE_CHOSEN_PARAMETER
    "group_by? [,string 1..200] ..5  # names in which the runs of a group are alike\n"
    "  = [\"optimizer.SGD.lr\"]\n"
    "at_step? integer 1..  # the step of at(SERIES) in the other parameters: the newest value up "
    "to it; a run that has not come so far has none\n"
    "sort? string 1..201  # a name as in where; with - before it the largest come first; runs "
    "without a value are last; absent: newest first\n"
    "  = \"-max(val_accuracy)\"\n"
    "baseline? JobId  # a job: by how much the numbers of each row are above its\n"
    "format? 'json'|'csv' = json  # csv: the groups where group_by is given, else the rows\n";

static const char schemas[] =
    "ExperimentRow\n"
    "  id JobId\n"
    "  name string\n"
    "  state State\n"
    "  values [number|string|null]  # one for each column; null: the run has none\n"
    "  deltas? [number|null]  # of each column, where a baseline is given: null where one of both "
    "has no number\n"
    "ExperimentFigures  # Of the runs that have a number.\n"
    "  mean,minimum,maximum number\n"
    "  deviation number|null  # of a sample; null: of one run there is none\n"
    "  count integer 1..\n"
    "ExperimentGroup\n"
    "  key [number|string|null]  # in the order of group_by\n"
    "  count integer 1..  # runs\n"
    "  columns [ExperimentFigures|null]  # null: no number\n"
    "ExperimentNames  # What the runs can be asked for, beside the fields of jobs.\n"
    "  settings [string]  # by their paths\n"
    "  labels [string]\n"
    "  series [string]\n"
    "  differing [string]  # those of the settings and labels in which two of the runs differ\n"
    "Experiments\n"
    "  total integer 0..  # runs for which where holds; the rows are of the newest 5000\n"
    "  columns [string]\n"
    "  names ExperimentNames\n"
    "  rows [ExperimentRow]  # newest first, or as sort says\n"
    "  groups [ExperimentGroup]|null  # null: none were asked for\n"
    "  baseline ExperimentRow|null  # null: none was asked for\n";

const cse_route cse_route_experiments = {
    .path = "/api/v1/experiments",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getExperiments", get_experiments,
                        "Runs by their settings and figures: what differs, and means over groups"),
          .parameters = parameters,
          .replies = "200 Experiments\n"
          "200 text/csv string  # With format=csv\n",
          .problems = "404" },
    },
};
