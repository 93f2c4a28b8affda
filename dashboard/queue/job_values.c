/* Series are read from their coarsest buckets, whatever the length of the run. */
#include "dashboard/queue/job_values.h"

#include <math.h>
#include <string.h>

#include "dashboard/queue/job_derived.h"
#include "engine/base/config/yaml.h"

enum { ROWS = 4 };

static json_t *number_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static void take_row(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    json_t *metrics = self, *one = json_object_get(metrics, curve->name);
    if (one == NULL) {
        one = json_pack("{s:n, s:n, s:n}", "last", "min", "max");
        json_object_set_new(metrics, curve->name, one);
    }
    if (row == NULL)
        return;
    json_object_set_new(one, "last", number_or_null(row->last));
    const json_t *least = json_object_get(one, "min"), *most = json_object_get(one, "max");
    if (row->finite > 0 && !(json_is_real(least) && json_real_value(least) <= row->minimum))
        json_object_set_new(one, "min", number_or_null(row->minimum));
    if (row->finite > 0 && !(json_is_real(most) && json_real_value(most) >= row->maximum))
        json_object_set_new(one, "max", number_or_null(row->maximum));
}

/* The text of a value; NULL: it is null, or an empty list. */
static json_t *text_of(const cse_yaml_node *node)
{
    cse_text text = { 0 };
    if (node->kind == CSE_YAML_SCALAR)
        return cse_yaml_is_null(node) ? NULL : json_string(node->text);
    if (node->count == 0)
        return NULL;
    cse_yaml_print(node, &text);
    json_t *value = json_string(text.data);
    cse_text_clear(&text);
    return value;
}

static json_t *settings_of(cse_store_reader *reader)
{
    json_t *settings = json_object();
    cse_text yaml = { 0 };
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    cse_yaml_unread *list = NULL;
    if (cse_store_reader_artefact(reader, "config.yaml", &yaml, NULL, 0) == CSE_OK &&
        cse_yaml_parse(arena, "config.yaml", yaml.data, yaml.size, &root) == CSE_OK) {
        const int count = cse_yaml_list_values(arena, root, &list);
        for (int i = 0; i < count; i++) {
            json_t *text = text_of(list[i].node);
            if (text != NULL)
                json_object_set_new(settings, list[i].path, text);
        }
    }
    cse_arena_destroy(&arena);
    cse_text_clear(&yaml);
    return settings;
}

static json_t *read_values(cse_jobs *jobs, const cse_job *job, const void *unused)
{
    (void)unused;
    cse_store_reader *reader = NULL;
    const char *directory = job->record.model_dir;
    json_t *metrics = json_object(), *settings = NULL;
    if (cse_readers_borrow(jobs->options.readers, directory, &reader) == CSE_OK) {
        const cse_metrics_query query = { .max_points = ROWS };
        cse_store_reader_metrics(reader, &query, take_row, metrics);
        settings = settings_of(reader);
    }
    cse_readers_give_back(jobs->options.readers, directory, &reader);
    return json_pack("{s:o, s:o}", "settings", settings != NULL ? settings : json_object(),
                     "metrics", metrics);
}

json_t *cse_job_values(cse_jobs *jobs, const cse_job *job)
{
    return cse_job_derived(jobs, job, CSE_DERIVED_VALUES, read_values, NULL);
}

/* The newest value up to a step: a series need not have one of each step. */
static json_t *value_at(cse_store_reader *reader, const char *series, int64_t step)
{
    cse_point point;
    const cse_end_points newest = { .points = &point, .most = 1, .newest = true };
    return cse_store_reader_end_points(reader, series, step + 1, &newest) == 1
               ? number_or_null(point.value)
               : json_null();
}

/* What is asked of one step. */
typedef struct step_question {
    int64_t step;
    const json_t *names, *metrics; /* series; of those that the run has it is answered */
} step_question;

/* {"step", "of": {name: value}}. */
static json_t *read_values_at(cse_jobs *jobs, const cse_job *job, const void *asked)
{
    const step_question *question = asked;
    cse_store_reader *reader = NULL;
    cse_run_status status = { .last_step = -1 };
    const char *directory = job->record.model_dir;
    json_t *name, *of = json_object();
    size_t i;
    const bool is_there = cse_readers_borrow(jobs->options.readers, directory, &reader) == CSE_OK &&
                          cse_store_reader_status(reader, &status) == CSE_OK &&
                          status.last_step >= question->step;
    json_array_foreach(question->names, i, name)
    {
        const char *series = json_string_value(name);
        if (json_object_get(question->metrics, series) != NULL)
            json_object_set_new(of, series,
                                is_there ? value_at(reader, series, question->step) : json_null());
    }
    cse_readers_give_back(jobs->options.readers, directory, &reader);
    return json_pack("{s:I, s:o}", "step", (json_int_t)question->step, "of", of);
}

/* Of the step, with each of the series that the run has. */
static bool answers(const json_t *kept, const step_question *question)
{
    const json_t *of = json_object_get(kept, "of");
    json_t *name;
    size_t i;
    json_array_foreach(question->names, i, name)
    {
        const char *series = json_string_value(name);
        if (json_object_get(question->metrics, series) != NULL &&
            json_object_get(of, series) == NULL)
            return false;
    }
    return json_integer_value(json_object_get(kept, "step")) == question->step;
}

/* Those of the step and the series that were asked for last are kept. */
json_t *cse_job_values_at(cse_jobs *jobs, const cse_job *job, int64_t step, const json_t *names,
                          const json_t *values)
{
    json_t *metrics = json_deep_copy(json_object_get(values, "metrics")), *name;
    const step_question question = { .step = step, .names = names, .metrics = metrics };
    json_t *found = cse_job_derived(jobs, job, CSE_DERIVED_AT, read_values_at, &question);
    size_t i;
    if (!answers(found, &question)) {
        json_decref(found);
        found = cse_job_derived_anew(jobs, job, CSE_DERIVED_AT, read_values_at, &question);
    }
    json_array_foreach(names, i, name)
    {
        json_t *one = json_object_get(metrics, json_string_value(name));
        if (one != NULL)
            json_object_set(one, "at",
                            json_object_get(json_object_get(found, "of"), json_string_value(name)));
    }
    json_decref(found);
    return json_pack("{s:O, s:o}", "settings", json_object_get(values, "settings"), "metrics",
                     metrics);
}
