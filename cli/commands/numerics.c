/* `csengine numerics`: the tensor statistics of a run: where a value was first not finite, and how
 * many values of each tensor its format could not represent. */
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "store/cursor.h"

typedef struct request {
    cse_store_reader *reader;
    const char *run;
    const char *pattern; /* NULL: all */
    int64_t step;        /* 0: the last one with statistics */
    bool json, all;
} request;

/* ---- the first that is not finite ---- */

static void print_first(const cse_numbers *n)
{
    cse_print("first not finite: %s at step %lld", n->name, (long long)n->step);
    if (n->first_microbatch >= 0)
        printf(", microbatch %lld", (long long)n->first_microbatch);
    cse_print("\n  layer %s, op %s (%s), ", n->scope[0] != '\0' ? n->scope : "-", n->op,
              n->backward ? "backward" : "forward");
    if (strcmp(n->source_dtype, n->dtype) != 0)
        cse_print("%s to ", n->source_dtype);
    cse_print("%s", n->dtype);
    if (n->file != NULL)
        cse_print(", %s:%d", n->file, n->line);
    if (n->saturated > 0)
        cse_print("\n  %lld of %lld values are too large for %s", (long long)n->saturated,
                  (long long)n->count, n->dtype);
    printf("\n  %lld infinite, %lld NaN of %lld\n", (long long)n->inf, (long long)n->nan,
           (long long)n->count);
}

static json_t *numbers_json(const cse_numbers *n)
{
    char digest[17] = "";
    for (int i = 0; n->digest != NULL && i < 8; i++)
        snprintf(digest + 2 * i, 3, "%02x", n->digest[i]);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tensor",
        n->name, "scope", n->scope, "op", n->op, "kind", n->kind, "source_dtype", n->source_dtype,
        "dtype", n->dtype, "backward", (int)n->backward, "step", (json_int_t)n->step, "count",
        (json_int_t)n->count, "nan", (json_int_t)n->nan, "inf", (json_int_t)n->inf, "saturated",
        (json_int_t)n->saturated, "flushed", (json_int_t)n->flushed, "zeros", (json_int_t)n->zeros,
        "absorbed", (json_int_t)n->absorbed);
    json_object_set_new(object, "max_exponent",
                        n->max_exponent > -127 ? json_integer(n->max_exponent) : json_null());
    json_object_set_new(object, "first_microbatch",
                        n->first_microbatch >= 0 ? json_integer(n->first_microbatch) : json_null());
    json_object_set_new(object, "file", n->file != NULL ? json_string(n->file) : json_null());
    json_object_set_new(object, "line", n->file != NULL ? json_integer(n->line) : json_null());
    if (digest[0] != '\0')
        json_object_set_new(object, "digest", json_string(digest));
    /* By exponent: {"-14": 3} means three values in [2^-14, 2^-13); zeros are counted separately.
     */
    json_t *histogram = json_object();
    for (int bin = 1; bin < n->bins; bin++) {
        uint64_t values = 0;
        char exponent[16];
        for (int i = 7; i >= 0; i--)
            values = values << 8 | n->histogram[bin * 8 + i];
        snprintf(exponent, sizeof exponent, "%d", bin - 127);
        if (values > 0 && bin < 255)
            json_object_set_new(histogram, exponent, json_integer((json_int_t)values));
    }
    if (n->bins > 0)
        json_object_set_new(object, "histogram", histogram);
    else
        json_decref(histogram);
    return object;
}

/* ---- the table ---- */

/* "12.5 %"; "-" for none. */
static const char *share(int64_t part, int64_t whole, char *text, size_t size)
{
    if (part == 0 || whole == 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.3g %%", 100.0 * (double)part / (double)whole);
    return text;
}

static void print_numbers(const cse_numbers *n, int width)
{
    char flushed[32], absorbed[32], exponent[32] = "-";
    if (n->max_exponent > -127)
        snprintf(exponent, sizeof exponent, "%lld", (long long)n->max_exponent);
    cse_print("%-*s %-8s %-8s %10lld %8lld %8lld %9lld %9s %9s %6s\n", width, n->name, n->kind,
              n->dtype, (long long)n->count, (long long)n->nan, (long long)n->inf,
              (long long)n->saturated, share(n->flushed, n->count, flushed, sizeof flushed),
              share(n->absorbed, n->count, absorbed, sizeof absorbed), exponent);
}

static cse_status last_step(const request *r, int64_t *step)
{
    cse_cursor *cursor = NULL;
    cse_numbers row;
    bool more = true;
    *step = 0;
    cse_status status =
        cse_cursor_numbers(r->reader, &(cse_numbers_query){ .last_step = 0 }, &cursor);
    while (status == CSE_OK && more) {
        status = cse_cursor_next_numbers(cursor, &row, &more);
        if (status == CSE_OK && more)
            *step = row.step;
    }
    cse_cursor_close(&cursor);
    if (status == CSE_OK && *step == 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s has no step with statistics: train with numerics: {every: 100} in the "
                        "configuration, or --set numerics.every=100",
                        r->run);
    return status;
}

typedef void visit_row(void *self, const cse_numbers *n);

/* The rows of the step to show; `others`: the number of those not shown. */
static cse_status visit_step(const request *r, visit_row *visit, void *self, int64_t *others)
{
    cse_cursor *cursor = NULL;
    cse_numbers row;
    bool more = true;
    const cse_numbers_query query = { .first_step = r->step,
                                      .last_step = r->step,
                                      .histograms = r->json };
    cse_status status = cse_cursor_numbers(r->reader, &query, &cursor);
    *others = 0;
    while (status == CSE_OK && more) {
        status = cse_cursor_next_numbers(cursor, &row, &more);
        if (status != CSE_OK || !more)
            break;
        const bool noteworthy =
            row.nan + row.inf + row.saturated + row.flushed + row.absorbed > 0 ||
            row.first_microbatch >= 0;
        const bool shown = r->pattern != NULL ? fnmatch(r->pattern, row.name, 0) == 0
                                              : r->all || r->json || noteworthy;
        if (shown)
            visit(self, &row);
        *others += !shown;
    }
    cse_cursor_close(&cursor);
    return status;
}

typedef struct table {
    int width; /* of the longest name */
    int64_t rows;
    json_t *tensors;
} table;

static void measure(void *self, const cse_numbers *n)
{
    table *t = self;
    t->rows++;
    if ((int)strlen(n->name) > t->width)
        t->width = (int)strlen(n->name);
}

static void print_row(void *self, const cse_numbers *n)
{
    print_numbers(n, ((const table *)self)->width);
}

static void add_row(void *self, const cse_numbers *n)
{
    json_array_append_new(((const table *)self)->tensors, numbers_json(n));
}

static cse_status show_step(const request *r, json_t *tensors)
{
    table t = { .width = 6, .tensors = tensors };
    int64_t others = 0;
    CSE_TRY(visit_step(r, measure, &t, &others));
    if (t.rows + others == 0)
        return cse_fail(CSE_NO_INPUT, "%s: step %lld has no statistics", r->run,
                        (long long)r->step);
    if (r->json)
        return visit_step(r, add_row, &t, &others);
    if (t.rows > 0)
        cse_print("step %lld\n%-*s %-8s %-8s %10s %8s %8s %9s %9s %9s %6s\n", (long long)r->step,
                  t.width, "tensor", "kind", "dtype", "count", "nan", "inf", "too large", "flushed",
                  "absorbed", "max 2^");
    CSE_TRY(visit_step(r, print_row, &t, &others));
    if (r->pattern == NULL && others > 0)
        cse_print("step %lld: %lld %stensors whose values all fit (--all shows them)\n",
                  (long long)r->step, (long long)others, t.rows > 0 ? "other " : "");
    return CSE_OK;
}

/* ---- the loss scale ---- */

/* Steps at which the scale changed. */
static cse_status show_loss_scale(const request *r, json_t *changes)
{
    cse_cursor *cursor = NULL;
    cse_point point;
    bool more = true;
    double scale = 0;
    int shown = 0;
    cse_status status = cse_cursor_points(r->reader, "loss_scale", &cursor);
    while (status == CSE_OK && more) {
        status = cse_cursor_next_point(cursor, &point, &more);
        if (status != CSE_OK || !more || point.value == scale)
            continue;
        scale = point.value;
        if (r->json)
            json_array_append_new(changes, json_pack("[I, f]", (json_int_t)point.step, scale));
        else
            cse_print("%s%g from step %lld", shown == 0 ? "loss scale: " : ", ", scale,
                      (long long)point.step);
        shown++;
    }
    if (shown > 0 && !r->json)
        printf("\n");
    cse_cursor_close(&cursor);
    return status;
}

static cse_status show(request *r)
{
    cse_numbers first;
    cse_text texts = { 0 };
    bool found = false;
    json_t *tensors = json_array(), *changes = json_array(), *first_json = NULL;
    cse_status status = r->step > 0 ? CSE_OK : last_step(r, &r->step);
    if (status == CSE_OK)
        status = cse_reader_first_nonfinite(r->reader, &first, &texts, &found);
    if (status == CSE_OK && r->json && found)
        first_json = numbers_json(&first);
    if (status == CSE_OK && !r->json && found)
        print_first(&first);
    else if (status == CSE_OK && !r->json)
        printf("all values are finite\n");
    if (status == CSE_OK)
        status = show_loss_scale(r, changes);
    if (status == CSE_OK)
        status = show_step(r, tensors);
    json_t *whole = json_pack(
        "{s:s, s:I, s:o, s:o, s:o}", "run", r->run, "step", (json_int_t)r->step, "first_nonfinite",
        first_json != NULL ? first_json : json_null(), "loss_scale", changes, "tensors", tensors);
    if (status == CSE_OK && r->json) {
        cse_json_print(whole);
    }
    json_decref(whole);
    cse_text_clear(&texts);
    return status;
}

static int run(const cse_command_line *line)
{
    request r = { .run = line->arguments[0],
                  .pattern = cse_option_value(line, "tensor"),
                  .json = cse_option_is_on(line, "json"),
                  .all = cse_option_is_on(line, "all") };
    const char *step = cse_option_value(line, "step");
    char *end = NULL;
    if (step != NULL)
        r.step = strtoll(step, &end, 10);
    if (step != NULL && (*step == '\0' || *end != '\0' || r.step < 1))
        return cse_report(cse_fail(CSE_USAGE, "--step %s: a step of 1 or more is accepted", step));
    cse_status status = cse_store_reader_open(r.run, &r.reader);
    if (status == CSE_OK)
        status = show(&r);
    cse_store_reader_close(&r.reader);
    return cse_report(status);
}

static const cse_option options[] = {
    { "step", "N", NULL, "the step to show; default: the last one with statistics" },
    { "tensor", "GLOB", NULL, "only tensors whose names match, as in model.layers.3.*" },
    { "all", NULL, NULL, "also shows tensors whose values all fit their format" },
    { "json", NULL, NULL, "one JSON object on stdout, with the exponents' histograms" },
    { 0 },
};

const cse_command cse_command_numerics = {
    .name = "numerics",
    .group = CSE_GROUP_LOOK,
    .summary = "shows the tensor statistics of a run",
    .arguments = "RUN",
    .doc =
        "RUN is a model_dir. Its configuration needs numerics: {every: N}. Shows the first tensor\n"
        "that was not finite, with step, layer, op, source line and microbatch. Then for each\n"
        "tensor of a step: the counts of NaN, infinities and values too large for its format,\n"
        "the share of values rounded to zero, and of weights that their update did not change.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
