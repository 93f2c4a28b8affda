/* `csengine compare`: where two runs part: the first observed step and the first tensor, in the
 * order of execution, whose bits differ, and how their losses part. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/json_values.h"
#include "cli/report.h"
#include "engine/base/arena.h"
#include "store/cursor.h"

enum { RUNS = 2 };

typedef struct tensor {
    char *name, *op, *dtype, *file;
    int line;
    bool backward;
    unsigned char digest[8];
} tensor;

/* The tensors of one observed step of one run. */
typedef struct observed_step {
    cse_cursor *cursor;
    cse_numbers next; /* the first row of the step after it */
    bool more;
    int64_t step;
    tensor *tensors;
    int count, capacity;
} observed_step;

typedef struct comparison {
    const char *runs[RUNS];
    cse_store_reader *readers[RUNS];
    observed_step at[RUNS];
    int64_t common_steps, equal_step; /* the last observed step that was equal; 0: none */
    bool differs;                     /* at the step at hand */
    const tensor *first[RUNS];        /* the tensor that differs; NULL of a run that lacks it */
    int only[RUNS];                   /* tensors that the other run lacks */
    /* Losses. */
    int64_t losses, first_loss_step, largest_step, last_step;
    double first_loss[RUNS], largest, last_loss[RUNS];
} comparison;

/* ---- steps ---- */

static void clear_step(observed_step *s)
{
    for (int i = 0; i < s->count; i++) {
        free(s->tensors[i].name);
        free(s->tensors[i].op);
        free(s->tensors[i].dtype);
        free(s->tensors[i].file);
    }
    s->count = 0;
}

static void keep(observed_step *s, const cse_numbers *n)
{
    if (n->digest == NULL)
        return;
    CSE_GROW(s->tensors, s->count, s->capacity);
    tensor *t = &s->tensors[s->count++];
    *t = (tensor){ .name = cse_strdup(n->name),
                   .op = cse_strdup(n->op),
                   .dtype = cse_strdup(n->dtype),
                   .file = n->file != NULL ? cse_strdup(n->file) : NULL,
                   .line = n->line,
                   .backward = n->backward };
    memcpy(t->digest, n->digest, sizeof t->digest);
}

/* Reads the next observed step; s->step is 0 when there is none. */
static cse_status read_step(observed_step *s)
{
    cse_status status = CSE_OK;
    clear_step(s);
    s->step = s->more ? s->next.step : 0;
    while (status == CSE_OK && s->more && s->next.step == s->step) {
        keep(s, &s->next);
        status = cse_cursor_next_numbers(s->cursor, &s->next, &s->more);
    }
    return status;
}

static cse_status open_steps(comparison *c)
{
    for (int r = 0; r < RUNS; r++) {
        observed_step *s = &c->at[r];
        CSE_TRY(cse_store_reader_open(c->runs[r], &c->readers[r]));
        CSE_TRY(
            cse_cursor_numbers(c->readers[r], &(cse_numbers_query){ .last_step = 0 }, &s->cursor));
        CSE_TRY(cse_cursor_next_numbers(s->cursor, &s->next, &s->more));
        CSE_TRY(read_step(s));
    }
    return CSE_OK;
}

/* ---- tensors ---- */

/* `from` is where the search begins: mostly the very place. */
static const tensor *find(const observed_step *s, const char *name, int from)
{
    for (int i = 0; i < s->count; i++) {
        const tensor *t = &s->tensors[(from + i) % s->count];
        if (strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

/* Tensors of both runs are compared; those of one alone are only counted: two precisions cast in
 * different places. */
static void compare_tensors(comparison *c)
{
    c->only[0] = c->only[1] = 0;
    for (int i = 0; i < c->at[0].count; i++) {
        const tensor *a = &c->at[0].tensors[i], *b = find(&c->at[1], a->name, i);
        c->only[0] += b == NULL;
        if (b == NULL || c->differs || memcmp(a->digest, b->digest, sizeof a->digest) == 0)
            continue;
        c->differs = true;
        c->first[0] = a;
        c->first[1] = b;
    }
    for (int i = 0; i < c->at[1].count; i++)
        c->only[1] += find(&c->at[0], c->at[1].tensors[i].name, i) == NULL;
}

static cse_status compare_steps(comparison *c)
{
    while (!c->differs && c->at[0].step > 0 && c->at[1].step > 0) {
        const int behind = c->at[0].step < c->at[1].step ? 0 : 1;
        if (c->at[0].step != c->at[1].step) {
            CSE_TRY(read_step(&c->at[behind]));
            continue;
        }
        c->common_steps++;
        compare_tensors(c);
        if (c->differs)
            break;
        c->equal_step = c->at[0].step;
        CSE_TRY(read_step(&c->at[0]));
        CSE_TRY(read_step(&c->at[1]));
    }
    return CSE_OK;
}

/* ---- losses ---- */

static void compare_loss(comparison *c, int64_t step, const double values[RUNS])
{
    const bool both_nan = isnan(values[0]) && isnan(values[1]);
    const double difference = fabs(values[0] - values[1]);
    c->losses++;
    c->last_step = step;
    c->last_loss[0] = values[0];
    c->last_loss[1] = values[1];
    if (both_nan || values[0] == values[1])
        return;
    if (c->first_loss_step == 0) {
        c->first_loss_step = step;
        c->first_loss[0] = values[0];
        c->first_loss[1] = values[1];
    }
    /* A run that became NaN differs by more than any number. */
    if (c->largest_step == 0 || difference > c->largest ||
        (isnan(difference) && !isnan(c->largest))) {
        c->largest = difference;
        c->largest_step = step;
    }
}

static cse_status compare_losses(comparison *c)
{
    cse_cursor *cursors[RUNS] = { NULL };
    cse_point points[RUNS];
    bool more[RUNS] = { false };
    cse_status status = CSE_OK;
    for (int r = 0; r < RUNS && status == CSE_OK; r++) {
        status = cse_cursor_points(c->readers[r], "loss", &cursors[r]);
        if (status == CSE_OK)
            status = cse_cursor_next_point(cursors[r], &points[r], &more[r]);
    }
    while (status == CSE_OK && more[0] && more[1]) {
        const int64_t steps[RUNS] = { points[0].step, points[1].step };
        if (steps[0] == steps[1])
            compare_loss(c, steps[0], (const double[RUNS]){ points[0].value, points[1].value });
        for (int r = 0; r < RUNS && status == CSE_OK; r++)
            if (steps[r] <= steps[1 - r])
                status = cse_cursor_next_point(cursors[r], &points[r], &more[r]);
    }
    for (int r = 0; r < RUNS; r++)
        cse_cursor_close(&cursors[r]);
    return status;
}

/* ---- what is said ---- */

static void hex(const unsigned char digest[8], char text[17])
{
    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static void print_tensors(const comparison *c)
{
    char digests[RUNS][17];
    if (c->common_steps == 0) {
        printf("tensors: no step was observed in both runs; numerics: {every: N} keeps digests\n");
        return;
    }
    if (!c->differs) {
        printf("tensors: equal at all %lld steps that were observed in both, up to step %lld\n",
               (long long)c->common_steps, (long long)c->equal_step);
    } else {
        const tensor *a = c->first[0];
        hex(a->digest, digests[0]);
        hex(c->first[1]->digest, digests[1]);
        printf("first difference: %s at step %lld\n  op %s (%s), %s", a->name,
               (long long)c->at[0].step, a->op, a->backward ? "backward" : "forward", a->dtype);
        if (a->file != NULL)
            printf(", %s:%d", a->file, a->line);
        printf("\n  digests %s and %s\n", digests[0], digests[1]);
        if (c->equal_step > 0)
            printf("  the last observed step before it, %lld, is equal\n",
                   (long long)c->equal_step);
    }
    if (c->only[0] + c->only[1] > 0)
        printf("  %d tensors are in the first run alone, %d in the second\n", c->only[0],
               c->only[1]);
}

static void print_losses(const comparison *c)
{
    if (c->losses == 0) {
        printf("losses: no step is in both runs\n");
        return;
    }
    printf("losses: %lld steps in both, up to step %lld\n", (long long)c->losses,
           (long long)c->last_step);
    if (c->first_loss_step == 0) {
        printf("  all equal, bit for bit\n");
        return;
    }
    printf("  first differs at step %lld: %.9g and %.9g\n"
           "  largest difference %.6g at step %lld\n"
           "  at the end: %.9g and %.9g\n",
           (long long)c->first_loss_step, c->first_loss[0], c->first_loss[1], c->largest,
           (long long)c->largest_step, c->last_loss[0], c->last_loss[1]);
}

static void print_json(const comparison *c, bool equal)
{
    json_t *tensor_json = json_null(), *losses = json_object();
    if (c->differs) {
        char digests[RUNS][17];
        const tensor *a = c->first[0];
        hex(a->digest, digests[0]);
        hex(c->first[1]->digest, digests[1]);
        tensor_json = json_pack("{s:s, s:s, s:s, s:b, s:I, s:[s, s]}", "tensor", a->name, "op",
                                a->op, "dtype", a->dtype, "backward", (int)a->backward, "step",
                                (json_int_t)c->at[0].step, "digests", digests[0], digests[1]);
        json_object_set_new(tensor_json, "file",
                            a->file != NULL ? json_string(a->file) : json_null());
        json_object_set_new(tensor_json, "line",
                            a->file != NULL ? json_integer(a->line) : json_null());
    }
    json_object_set_new(losses, "steps", json_integer(c->losses));
    if (c->first_loss_step > 0) {
        json_object_set_new(losses, "first_step", json_integer(c->first_loss_step));
        json_object_set_new(losses, "largest_difference", cse_json_finite(c->largest));
        json_object_set_new(losses, "largest_step", json_integer(c->largest_step));
        json_object_set_new(losses, "last",
                            json_pack("[o, o]", cse_json_finite(c->last_loss[0]),
                                      cse_json_finite(c->last_loss[1])));
    }
    json_t *whole =
        json_pack("{s:[s, s], s:b, s:I, s:I, s:o, s:[i, i], s:o}", "runs", c->runs[0], c->runs[1],
                  "equal", (int)equal, "observed_steps", (json_int_t)c->common_steps, "equal_step",
                  (json_int_t)c->equal_step, "first_difference", tensor_json, "only", c->only[0],
                  c->only[1], "losses", losses);
    cse_json_print(whole);
    json_decref(whole);
}

static void close_comparison(comparison *c)
{
    for (int r = 0; r < RUNS; r++) {
        clear_step(&c->at[r]);
        free(c->at[r].tensors);
        cse_cursor_close(&c->at[r].cursor);
        cse_store_reader_close(&c->readers[r]);
    }
}

static int run(const cse_command_line *line)
{
    comparison c = { .runs = { line->arguments[0], line->arguments[1] } };
    cse_status status = open_steps(&c);
    if (status == CSE_OK)
        status = compare_steps(&c);
    if (status == CSE_OK)
        status = compare_losses(&c);
    if (status == CSE_OK && c.common_steps == 0 && c.losses == 0)
        status = cse_fail(CSE_NO_INPUT, "%s and %s have no step in common", c.runs[0], c.runs[1]);
    const bool equal = !c.differs && c.first_loss_step == 0;
    if (status == CSE_OK && cse_option_is_on(line, "json")) {
        print_json(&c, equal);
    } else if (status == CSE_OK) {
        print_tensors(&c);
        print_losses(&c);
    }
    close_comparison(&c);
    return status != CSE_OK ? cse_report(status) : equal ? 0 : 1;
}

static const cse_option options[] = {
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

const cse_command cse_command_compare = {
    .name = "compare",
    .summary = "tells where two runs part, and how their losses do",
    .arguments = "RUN_A RUN_B",
    .doc =
        "Each is a run's model_dir. Names the first observed step and, in the order of execution,\n"
        "the first tensor and op whose bits differ (numerics: {every: N} keeps digests), then\n"
        "the first step at which the losses differ, and by how much. Exit code 0: equal, 1: not.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .run = run,
};
