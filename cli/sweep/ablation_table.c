/* A variant that failed has a row as well, with its reason. */
#include "cli/sweep/ablation_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/printing.h"
#include "engine/base/json_value.h"
#include "run/sweep/sweep_plan.h"
#include "store/reader.h"

enum { MOST_SERIES = 64, MOST_NAME = 28 };

/* ---- values ---- */

typedef struct reading {
    int64_t first, last; /* steps; last 0: to the end */
    bool maximizes;
    cse_ablation_value *value;
} reading;

static void take_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    reading *r = self;
    cse_ablation_value *v = r->value;
    (void)curve;
    if (row == NULL || row->last_step < r->first || (r->last > 0 && row->last_step > r->last) ||
        !isfinite(row->last))
        return;
    if (!v->known || row->last_step >= v->step) {
        v->step = row->last_step;
        v->last = row->last;
    }
    if (!v->known || (r->maximizes ? row->last > v->best : row->last < v->best)) {
        v->best_step = row->last_step;
        v->best = row->last;
    }
    v->known = true;
}

static cse_status read_value(const cse_ablation *a, const char *model_dir,
                             const cse_ablation_metric *metric, cse_ablation_value *value)
{
    const char *const names[] = { metric->name, NULL };
    cse_store_reader *reader = NULL;
    reading r = {
        .first = a->at + 1, .last = a->end, .maximizes = metric->maximizes, .value = value
    };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status status = cse_store_reader_metrics(
        reader, &(cse_metrics_query){ .names = names, .max_points = 1 << 24 }, take_point, &r);
    cse_store_reader_close(&reader);
    return status;
}

/* ---- which series ---- */

typedef struct names {
    const char *list[MOST_SERIES + 1];
    int count;
    cse_arena *arena;
} names;

static void take_name(void *self, const cse_row *row)
{
    names *n = self;
    const char *name = row->fields[1].text;
    if (name == NULL || n->count == MOST_SERIES ||
        (strcmp(name, "loss") != 0 && strncmp(name, "val_", 4) != 0))
        return;
    n->list[n->count++] = cse_arena_string(n->arena, name);
}

/* Those of the first variant that has a run. */
static cse_status find_names(const cse_ablation *a, names *n)
{
    cse_status status = CSE_OK;
    for (int i = 0; i < a->count && n->count == 0 && status == CSE_OK; i++) {
        cse_store_reader *reader = NULL;
        if (a->variants[i].failure != NULL)
            continue;
        CSE_TRY(cse_store_reader_open(a->variants[i].model_dir, &reader));
        status = cse_store_reader_rows(reader, CSE_ROW_SERIES, &(cse_store_query){ .limit = 10000 },
                                       take_name, n);
        cse_store_reader_close(&reader);
    }
    return status;
}

static cse_status read_metric(const cse_ablation *a, cse_ablation_metric *metric)
{
    bool any = false;
    metric->maximizes = !cse_sweep_is_loss(metric->name) && strstr(metric->name, "perplex") == NULL;
    metric->values = cse_arena_alloc(a->arena, (size_t)a->count * sizeof *metric->values);
    for (int i = 0; i < a->count; i++) {
        metric->values[i] = (cse_ablation_value){ .known = false };
        if (a->variants[i].failure == NULL)
            CSE_TRY(read_value(a, a->variants[i].model_dir, metric, &metric->values[i]));
        any = any || metric->values[i].known;
    }
    return any ? CSE_OK
               : cse_fail(CSE_NO_INPUT,
                          "ablate: no variant has a value of \"%s\" after step %" PRId64
                          ": accepted are series of the runs, such as loss and val_loss",
                          metric->name, a->at);
}

cse_status cse_ablation_table_read(const cse_ablation *a, const char *const *wanted,
                                   cse_ablation_table *table)
{
    names found = { .arena = a->arena };
    int count = 0;
    *table = (cse_ablation_table){ .ablation = a };
    if (wanted == NULL)
        CSE_TRY(find_names(a, &found));
    const char *const *list = wanted != NULL ? wanted : found.list;
    while (list[count] != NULL)
        count++;
    table->metrics = cse_arena_alloc(a->arena, ((size_t)count + 1) * sizeof *table->metrics);
    for (int i = 0; i < count; i++) {
        cse_ablation_metric *metric = &table->metrics[table->count];
        metric->name = list[i];
        const cse_status status = read_metric(a, metric);
        if (status != CSE_OK && wanted != NULL)
            return status;
        table->count += status == CSE_OK; /* of those that are found some have no value yet */
    }
    return CSE_OK;
}

double cse_ablation_last_difference(const cse_ablation_metric *metric, int variant)
{
    const cse_ablation_value *base = &metric->values[0], *value = &metric->values[variant];
    return base->known && value->known && base->step == value->step ? value->last - base->last
                                                                    : NAN;
}

double cse_ablation_best_difference(const cse_ablation_metric *metric, int variant)
{
    const cse_ablation_value *base = &metric->values[0], *value = &metric->values[variant];
    return base->known && value->known ? value->best - base->best : NAN;
}

/* ---- for people ---- */

static void print_number(double value, bool is_difference)
{
    char text[32] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, is_difference ? "%+.6g" : "%.6g", value);
    printf("  %12s", text);
}

static void print_metric(const cse_ablation *a, const cse_ablation_metric *metric, int width)
{
    cse_print("\n%s, %s is better\n", metric->name, metric->maximizes ? "more" : "less");
    printf("%-*s  %8s  %12s  %12s  %12s  %8s  %12s\n", width, "variant", "step", "last",
           "difference", "best", "at step", "difference");
    for (int i = 0; i < a->count; i++) {
        const cse_ablation_variant *v = &a->variants[i];
        const cse_ablation_value *value = &metric->values[i];
        cse_print("%-*.*s", width, width, v->name);
        if (!value->known) {
            cse_print("  %s%.200s\n", v->failure != NULL ? "failed: " : "no value",
                      v->failure != NULL ? v->failure : "");
            continue;
        }
        printf("  %8" PRId64, value->step);
        print_number(value->last, false);
        print_number(i > 0 ? cse_ablation_last_difference(metric, i) : NAN, true);
        print_number(value->best, false);
        printf("  %8" PRId64, value->best_step);
        print_number(i > 0 ? cse_ablation_best_difference(metric, i) : NAN, true);
        printf("\n");
    }
}

void cse_ablation_table_show(const cse_ablation_table *table)
{
    const cse_ablation *a = table->ablation;
    size_t width = 9;
    for (int i = 0; i < a->count; i++)
        width = strlen(a->variants[i].name) > width ? strlen(a->variants[i].name) : width;
    cse_print("%d variants of %s, which share its steps 1 to %" PRId64 "; unchanged: %s\n",
              a->count - 1, a->run, a->at,
              a->variants[0].is_own ? "the run itself" : a->variants[0].model_dir);
    for (int m = 0; m < table->count; m++)
        print_metric(a, &table->metrics[m], width < MOST_NAME ? (int)width : MOST_NAME);
}

/* ---- for programs ---- */

static json_t *value_json(const cse_ablation_metric *metric, int i)
{
    const cse_ablation_value *value = &metric->values[i];
    if (!value->known)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:I, s:o, s:o}", "step", (json_int_t)value->step, "last",
                     cse_json_finite(value->last), "last_difference",
                     cse_json_finite(cse_ablation_last_difference(metric, i)), "best_step",
                     (json_int_t)value->best_step, "best", cse_json_finite(value->best),
                     "best_difference", cse_json_finite(cse_ablation_best_difference(metric, i)));
}

static json_t *variant_json(const cse_ablation_table *table, int i)
{
    const cse_ablation_variant *v = &table->ablation->variants[i];
    json_t *metrics = json_object(), *settings = json_array();
    for (int s = 0; v->settings[s] != NULL; s++)
        json_array_append_new(settings, json_string(v->settings[s]));
    for (int m = 0; m < table->count; m++)
        json_object_set_new(metrics, table->metrics[m].name, value_json(&table->metrics[m], i));
    return json_pack("{s:s, s:s, s:o, s:s?, s:o}", "name", v->name, "model_dir", v->model_dir,
                     "settings", settings, "failure", v->failure, "metrics", metrics);
}

json_t *cse_ablation_table_json(const cse_ablation_table *table)
{
    const cse_ablation *a = table->ablation;
    json_t *variants = json_array(), *goals = json_object();
    for (int i = 0; i < a->count; i++)
        json_array_append_new(variants, variant_json(table, i));
    for (int m = 0; m < table->count; m++)
        json_object_set_new(goals, table->metrics[m].name,
                            json_string(table->metrics[m].maximizes ? "max" : "min"));
    return json_pack("{s:s, s:I, s:b, s:o, s:o}", "run", a->run, "at", (json_int_t)a->at,
                     "unchanged_is_the_run", (int)a->variants[0].is_own, "goals", goals, "variants",
                     variants);
}
