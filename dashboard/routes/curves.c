/* Curves of many runs in one answer, over the same ranges of steps: each run's own, or of groups of
 * runs their mean and how far they lie apart. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/query/spread.h"
#include "dashboard/query/table.h"
#include "dashboard/queue/job_values.h"
#include "dashboard/routes/chosen.h"
#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/json.h"

enum { MOST_RUNS = 1000, MOST_BINS = 2000, MOST_NUMBERS = 200000 };

/* Several runs, or one, that are drawn as one line. */
typedef struct line {
    json_t *key;         /* NULL: of one run */
    json_t *runs;        /* ids */
    cse_spread *spreads; /* [series] */
} line;

typedef struct drawing {
    const cse_request *request;
    cse_where where;
    json_t *chosen;
    json_t *runs;       /* as tables take them */
    json_t *model_dirs; /* of the same */
    int64_t total, last_step;
    json_t *by;          /* what the runs of a line are alike in; NULL: a line for each run */
    const json_t *names; /* series */
    line *lines;
    int *line_of; /* [runs] */
    int line_count;
    cse_bin_range range;
    bool *kept;                        /* [series][range.count]: some run has a point there */
    int64_t *first_steps, *last_steps; /* likewise: of those points */
} drawing;

static bool take_job(void *self, const cse_job *job)
{
    drawing *d = self;
    cse_jobs *jobs = d->request->server->jobs;
    if (!cse_chosen_asks(d->chosen, job->record.id))
        return true;
    json_t *shown = cse_job_json(jobs, job), *values = cse_job_values(jobs, job);
    const bool holds = cse_where_holds(&d->where, shown, values);
    const json_t *progress = json_object_get(shown, "progress");
    const int64_t step = json_integer_value(json_object_get(progress, "step"));
    d->total += holds;
    if (holds && json_array_size(d->runs) < MOST_RUNS) {
        json_array_append_new(d->model_dirs, json_string(job->record.model_dir));
        json_array_append_new(d->runs, json_pack("{s:O, s:O}", "job", shown, "values", values));
        d->last_step = step > d->last_step ? step : d->last_step;
    }
    json_decref(shown);
    json_decref(values);
    return true;
}

/* ---- lines ---- */

/* Whether a setting is one of these, by its path or the end of it. */
static bool is_named(const json_t *names, const char *path)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        const size_t all = strlen(path), own = strlen(text);
        if (own <= all && strcmp(path + all - own, text) == 0 &&
            (own == all || path[all - own - 1] == '.'))
            return true;
    }
    return false;
}

/* Settings in which two of the runs differ and that can change a bit, without those of `but`. */
static json_t *settings_but(const json_t *runs, const json_t *but)
{
    json_t *names = cse_table_names(runs), *by = json_array(), *settings = json_object(), *name;
    size_t i;
    json_array_foreach(json_object_get(names, "settings"), i, name)
        json_object_set_new(settings, json_string_value(name), json_true());
    json_array_foreach(json_object_get(names, "differing"), i, name)
    {
        const char *path = json_string_value(name);
        if (json_object_get(settings, path) != NULL && cse_setting_changes_bits(path) &&
            !is_named(but, path))
            json_array_append(by, name);
    }
    json_decref(settings);
    json_decref(names);
    return by;
}

/* The line of a key, by its text in `known`. */
static int line_with(drawing *d, json_t *known, json_t *key)
{
    char *text = key != NULL ? json_dumps(key, JSON_COMPACT) : NULL;
    const json_t *before = text != NULL ? json_object_get(known, text) : NULL;
    if (before == NULL) {
        d->lines[d->line_count] = (line){ .key = json_incref(key), .runs = json_array() };
        if (text != NULL)
            json_object_set_new(known, text, json_integer(d->line_count));
    }
    free(text);
    return before != NULL ? (int)json_integer_value(before) : d->line_count++;
}

static void make_lines(drawing *d)
{
    const size_t count = json_array_size(d->runs), series = json_array_size(d->names);
    json_t *rows = d->by != NULL ? cse_table_rows(d->runs, d->by, NULL) : NULL;
    json_t *known = json_object();
    d->lines = cse_calloc(count + 1, sizeof *d->lines);
    d->line_of = cse_calloc(count + 1, sizeof *d->line_of);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *job = json_object_get(json_array_get(d->runs, i), "job");
        const int l = line_with(d, known, json_object_get(row, "values"));
        json_array_append(d->lines[l].runs, json_object_get(job, "id"));
        d->line_of[i] = l;
    }
    json_decref(rows);
    json_decref(known);
    for (int l = 0; l < d->line_count; l++)
        d->lines[l].spreads = cse_calloc(series, sizeof *d->lines[l].spreads);
}

/* ---- ranges ---- */

static void choose_range(drawing *d)
{
    const int64_t first = cse_request_integer(d->request, "from", 1);
    const int64_t asked = cse_request_integer(d->request, "to", d->last_step);
    const int64_t last = asked < d->last_step ? asked : d->last_step;
    const int64_t columns = d->by != NULL ? 5 : 1;
    const int64_t cells =
        columns * (d->line_count > 0 ? d->line_count : 1) * (int64_t)json_array_size(d->names);
    int64_t most = cse_request_integer(d->request, "max_points", 250);
    most = most * cells > MOST_NUMBERS ? MOST_NUMBERS / cells : most;
    most = most > 0 ? most : 1;
    d->range.width = cse_bin_width(first, last, most);
    /* From the first step on, so that ranges lie as buckets do, and stay when others are asked
     * for. */
    d->range.first = first - (first - 1) % d->range.width;
    d->range.count = last >= first ? (int)((last - d->range.first) / d->range.width) + 1 : 1;
    const size_t all = json_array_size(d->names) * (size_t)d->range.count;
    d->kept = cse_calloc(all, sizeof *d->kept);
    d->first_steps = cse_calloc(all, sizeof *d->first_steps);
    d->last_steps = cse_calloc(all, sizeof *d->last_steps);
    for (int l = 0; l < d->line_count; l++)
        for (size_t s = 0; s < json_array_size(d->names); s++)
            cse_spread_start(&d->lines[l].spreads[s], d->range.count);
}

static void note_steps(drawing *d, size_t series, const cse_bin *bins)
{
    const size_t from = series * (size_t)d->range.count;
    for (int i = 0; i < d->range.count; i++) {
        if (bins[i].finite + bins[i].not_finite == 0)
            continue;
        int64_t *first = &d->first_steps[from + (size_t)i],
                *last = &d->last_steps[from + (size_t)i];
        if (!d->kept[from + (size_t)i] || bins[i].first_step < *first)
            *first = bins[i].first_step;
        if (bins[i].last_step > *last)
            *last = bins[i].last_step;
        d->kept[from + (size_t)i] = true;
    }
}

/* A run that waits for its turn has no store, and no points. */
static cse_status read_run(drawing *d, size_t run, cse_bin *bins)
{
    cse_readers *readers = d->request->server->readers;
    const char *directory = json_string_value(json_array_get(d->model_dirs, run));
    cse_store_reader *reader = NULL;
    cse_status status = cse_readers_borrow(readers, directory, &reader);
    if (status == CSE_NO_INPUT || status == CSE_TEMPORARY)
        return CSE_OK;
    for (size_t s = 0; status == CSE_OK && s < json_array_size(d->names); s++) {
        status = cse_store_reader_bins(reader, json_string_value(json_array_get(d->names, s)),
                                       &d->range, bins);
        if (status != CSE_OK)
            break;
        cse_spread_add(&d->lines[d->line_of[run]].spreads[s], bins);
        note_steps(d, s, bins);
    }
    cse_readers_give_back(readers, directory, &reader);
    return status;
}

static cse_status read_all(drawing *d)
{
    cse_bin *bins = cse_calloc((size_t)d->range.count, sizeof *bins);
    cse_status status = CSE_OK;
    for (size_t i = 0; status == CSE_OK && i < json_array_size(d->runs); i++)
        status = read_run(d, i, bins);
    free(bins);
    return status;
}

/* ---- the answer ---- */

static void add_json(cse_text *out, const char *head, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    cse_text_add(out, "%s%s", head, text != NULL ? text : "null");
    free(text);
    json_decref(value);
}

/* The batch size that all of them have; null: they differ. */
static json_t *batch_size_of(const drawing *d, int number)
{
    json_t *size = NULL;
    for (size_t i = 0; i < json_array_size(d->runs); i++) {
        json_t *job = json_object_get(json_array_get(d->runs, i), "job");
        json_t *own = json_object_get(job, "batch_size");
        if (d->line_of[i] != number)
            continue;
        if (size != NULL && !json_equal(size, own))
            return json_null();
        size = own;
    }
    return size != NULL ? json_incref(size) : json_null();
}

static json_t *lines_json(const drawing *d)
{
    json_t *lines = json_array();
    for (int l = 0; l < d->line_count; l++) {
        const line *one = &d->lines[l];
        json_array_append_new(lines, json_pack("{s:O?, s:O, s:o}", "key", one->key, "runs",
                                               one->runs, "batch_size", batch_size_of(d, l)));
    }
    return lines;
}

static json_t *members_json(const drawing *d)
{
    static const char *const members[] = { "id", "name", "state" };
    json_t *runs = json_array(), *run;
    size_t i;
    json_array_foreach(d->runs, i, run)
    {
        json_t *one = json_object();
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
            json_object_set(one, members[m],
                            json_object_get(json_object_get(run, "job"), members[m]));
        json_array_append_new(runs, one);
    }
    return runs;
}

static void add_steps(cse_text *out, const char *name, const drawing *d, size_t from,
                      const int64_t *steps)
{
    bool first = true;
    cse_text_add(out, ",\"%s\":[", name);
    for (size_t i = 0; i < (size_t)d->range.count; i++) {
        if (!d->kept[from + i])
            continue;
        cse_text_add_bytes(out, ",", !first);
        cse_json_add_integer(out, steps[from + i]);
        first = false;
    }
    cse_text_add_bytes(out, "]", 1);
}

static void add_series(cse_text *out, const drawing *d, size_t series)
{
    const size_t from = series * (size_t)d->range.count;
    cse_text_add(out, "%s{\"name\":", series > 0 ? "," : "");
    cse_json_add_string(out, json_string_value(json_array_get(d->names, series)));
    add_steps(out, "step", d, from, d->first_steps);
    add_steps(out, "last_step", d, from, d->last_steps);
    cse_text_add(out, ",\"lines\":[");
    for (int l = 0; l < d->line_count; l++) {
        cse_text_add_bytes(out, ",", l > 0);
        cse_spread_json(&d->lines[l].spreads[series], d->kept + from, d->by != NULL, out);
    }
    cse_text_add(out, "]}");
}

static void answer_curves(const drawing *d, cse_answer *answer)
{
    cse_text out = { 0 };
    json_t *names = cse_table_names(d->runs);
    cse_text_add(&out, "{\"total\":%lld,\"width\":%lld", (long long)d->total,
                 (long long)d->range.width);
    add_json(&out, ",\"names\":", json_incref(json_object_get(names, "series")));
    add_json(&out, ",\"by\":", d->by != NULL ? json_incref(d->by) : json_null());
    add_json(&out, ",\"runs\":", members_json(d));
    add_json(&out, ",\"lines\":", lines_json(d));
    cse_text_add(&out, ",\"series\":[");
    for (size_t s = 0; s < json_array_size(d->names); s++)
        add_series(&out, d, s);
    cse_text_add(&out, "]}");
    json_decref(names);
    cse_answer_text(answer, 200, "application/json", &out);
    cse_text_clear(&out);
}

static void draw(drawing *d, cse_answer *answer)
{
    const json_t *by = json_object_get(d->request->values, "group_by");
    const json_t *but = json_object_get(d->request->values, "but");
    d->by = by != NULL ? json_deep_copy(by) : but != NULL ? settings_but(d->runs, but) : NULL;
    make_lines(d);
    choose_range(d);
    const cse_status status = read_all(d);
    if (status == CSE_OK)
        answer_curves(d, answer);
    else
        cse_answer_failure(answer, status);
}

static void release(drawing *d)
{
    for (int l = 0; l < d->line_count; l++) {
        for (size_t s = 0; d->lines[l].spreads != NULL && s < json_array_size(d->names); s++)
            cse_spread_clear(&d->lines[l].spreads[s]);
        free(d->lines[l].spreads);
        json_decref(d->lines[l].key);
        json_decref(d->lines[l].runs);
    }
    free(d->lines);
    free(d->line_of);
    free(d->kept);
    free(d->first_steps);
    free(d->last_steps);
    json_decref(d->by);
    json_decref(d->chosen);
    json_decref(d->runs);
    json_decref(d->model_dirs);
}

static void get_curves(const cse_request *request, cse_answer *answer)
{
    drawing d = { .request = request, .names = json_object_get(request->values, "names") };
    if (cse_request_has(request, "group_by") && cse_request_has(request, "but")) {
        cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST,
                           "group_by and but are two ways to make groups: send one of them");
        return;
    }
    if (!cse_where_read(request, answer, &d.where))
        return;
    d.runs = json_array();
    d.model_dirs = json_array();
    d.chosen = cse_chosen_read(request);
    cse_jobs_each(request->server->jobs, take_job, &d);
    if (cse_where_end(&d.where, answer) && cse_chosen_all_met(d.chosen, answer))
        draw(&d, answer);
    release(&d);
}

static const char parameters[] = CSE_WHERE_PARAMETER CSE_CHOSEN_PARAMETER
    "names [,string 1..200] 1..20  # series\n"
    "  = [\"loss\", \"val_loss\"]\n"
    "group_by? [,string 1..200] ..5  # names as in where: runs that are alike in them are one "
    "line, "
    "their mean; absent, without but: each run is a line of its own\n"
    "  = [\"optimizer.SGD.lr\"]\n"
    "but? [,string 1..200] 1..20  # runs are one line where, of the settings that can change a "
    "bit, "
    "at most these differ: paths, or ends of them\n"
    "  = [\"seed\"]\n"
    "from? integer 1..  # first step\n"
    "to? integer 1..  # last step\n"
    "max_points? integer 1..2000 = 250  # ranges of steps at most; fewer where 200000 numbers "
    "would "
    "not be enough for all lines\n";

static const char schemas[] =
    "CurveRun\n"
    "  id JobId\n"
    "  name string\n"
    "  state State\n"
    "CurveLine\n"
    "  key [number|string|null]|null  # in the order of by; null: of one run\n"
    "  runs [JobId] 1..\n"
    "  batch_size integer|null  # that all of them have\n"
    "LineValues  # Columns, a value for each range of the series; null: no run has a finite point "
    "there.\n"
    "  runs integer 0..  # that have points of the series\n"
    "  not_finite integer 0..  # points that are NaN or infinite; no figure has them\n"
    "  mean [number|null]  # over the runs, each with the mean of its points in the range\n"
    "  deviation? [number|null]  # of these means, as of a sample; null: fewer than two runs; this "
    "and what follows only of groups\n"
    "  minimum? [number|null]  # the least of these means\n"
    "  maximum? [number|null]  # the largest\n"
    "  count? [integer 0..]  # runs with a finite point there\n"
    "SharedSeries\n"
    "  name string\n"
    "  step [integer]  # of each range the first step of a point of any run; ranges without one "
    "are "
    "left out\n"
    "  last_step [integer]  # likewise the last\n"
    "  lines [LineValues]  # in the order of lines\n"
    "SharedCurves\n"
    "  total integer 0..  # runs for which where holds; the newest 1000 are drawn\n"
    "  width integer 1..  # steps of a range; the first begins with step 1 or a multiple of width "
    "behind it\n"
    "  names [string]  # every series of the runs\n"
    "  by [string]|null  # what the runs of a line are alike in, and lines differ in; null: no "
    "groups\n"
    "  runs [CurveRun]\n"
    "  lines [CurveLine]\n"
    "  series [SharedSeries]  # in the order of the parameter names\n";

const cse_route cse_route_curves = {
    .path = "/api/v1/curves",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getCurves", get_curves,
                        "Curves of many runs over the same steps, or means over groups of them"),
          .parameters = parameters,
          .replies = "200 SharedCurves",
          .problems = "404" },
    },
};
