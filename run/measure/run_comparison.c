/* Reads the rows of both run stores in parallel, one step at a time. */
#include "run/measure/run_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/name_index.h"
#include "store/cursor.h"

enum { RUNS = CSE_COMPARED_RUNS };

typedef cse_compared_tensor tensor;

/* The tensors of one step of one run. */
typedef struct step_tensors {
    cse_cursor *cursor;
    cse_numbers next; /* the first row of the step after it */
    bool more;
    int64_t step;
    tensor *tensors;
    int count, capacity;
} step_tensors;

typedef struct reading {
    cse_store_reader *readers[RUNS];
    step_tensors at[RUNS];
    const cse_compared_names *pairs; /* NULL: equal names */
    cse_name_index paired[RUNS];     /* the number of a name's pair */
    cse_run_comparison *result;
} reading;

/* ---- steps ---- */

static void clear_tensor(tensor *t)
{
    free(t->name);
    free(t->op);
    free(t->dtype);
    free(t->file);
}

static void clear_step(step_tensors *s)
{
    for (int i = 0; i < s->count; i++)
        clear_tensor(&s->tensors[i]);
    s->count = 0;
}

static void keep(step_tensors *s, const cse_numbers *n)
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

/* Reads the next step; s->step is 0 when there is none. */
static cse_status read_step(step_tensors *s)
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

static cse_status open_steps(reading *c, const char *const runs[RUNS])
{
    for (int r = 0; r < RUNS; r++) {
        step_tensors *s = &c->at[r];
        CSE_TRY(cse_store_reader_open(runs[r], &c->readers[r]));
        CSE_TRY(
            cse_cursor_numbers(c->readers[r], &(cse_numbers_query){ .last_step = 0 }, &s->cursor));
        CSE_TRY(cse_cursor_next_numbers(s->cursor, &s->next, &s->more));
        CSE_TRY(read_step(s));
    }
    return CSE_OK;
}

/* ---- tensors ---- */

/* Searches from index `from`, where the tensor usually is. */
static const tensor *find(const step_tensors *s, const char *name, int from)
{
    for (int i = 0; i < s->count; i++) {
        const tensor *t = &s->tensors[(from + i) % s->count];
        if (strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

/* The name in the other run of a tensor of run `r`; NULL: it has no pair. */
static const char *partner_of(const reading *c, int r, const char *name)
{
    if (c->pairs == NULL)
        return name;
    const int pair = cse_name_index_find(&c->paired[r], name);
    return pair >= 0 ? c->pairs->names[1 - r][pair] : name;
}

static const tensor *find_partner(const reading *c, int r, const tensor *t, int from)
{
    const char *name = partner_of(c, r, t->name);
    return name != NULL ? find(&c->at[1 - r], name, from) : NULL;
}

static void index_pairs(reading *c)
{
    for (int r = 0; r < RUNS && c->pairs != NULL; r++)
        for (int i = 0; i < c->pairs->count; i++)
            if (c->pairs->names[r][i] != NULL)
                cse_name_index_add(&c->paired[r], c->pairs->names[r][i], i);
}

/* The copy outlives the reader. */
static tensor copy_tensor(const tensor *t)
{
    tensor copy = *t;
    copy.name = cse_strdup(t->name);
    copy.op = cse_strdup(t->op);
    copy.dtype = cse_strdup(t->dtype);
    copy.file = t->file != NULL ? cse_strdup(t->file) : NULL;
    return copy;
}

static void compare_tensors(reading *c)
{
    cse_run_comparison *result = c->result;
    result->only[0] = result->only[1] = 0;
    for (int i = 0; i < c->at[0].count; i++) {
        const tensor *a = &c->at[0].tensors[i], *b = find_partner(c, 0, a, i);
        result->only[0] += b == NULL;
        if (b == NULL || result->differs || memcmp(a->digest, b->digest, sizeof a->digest) == 0)
            continue;
        result->differs = true;
        result->first[0] = copy_tensor(a);
        result->first[1] = copy_tensor(b);
    }
    for (int i = 0; i < c->at[1].count; i++)
        result->only[1] += find_partner(c, 1, &c->at[1].tensors[i], i) == NULL;
}

static cse_status compare_steps(reading *c)
{
    step_tensors *a = &c->at[0], *b = &c->at[1];
    while (!c->result->differs && a->step > 0 && b->step > 0) {
        if (a->step != b->step) {
            CSE_TRY(read_step(a->step < b->step ? a : b));
            continue;
        }
        c->result->common_steps++;
        c->result->step = a->step;
        compare_tensors(c);
        if (c->result->differs)
            break;
        c->result->equal_step = a->step;
        CSE_TRY(read_step(a));
        CSE_TRY(read_step(b));
    }
    return CSE_OK;
}

/* ---- losses ---- */

static void compare_loss(cse_run_comparison *c, int64_t step, const double values[RUNS])
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
    /* A NaN in one run counts as larger than any difference. */
    if (c->largest_step == 0 || difference > c->largest ||
        (isnan(difference) && !isnan(c->largest))) {
        c->largest = difference;
        c->largest_step = step;
    }
}

static cse_status compare_losses(reading *c)
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
            compare_loss(c->result, steps[0],
                         (const double[RUNS]){ points[0].value, points[1].value });
        for (int r = 0; r < RUNS && status == CSE_OK; r++)
            if (steps[r] <= steps[1 - r])
                status = cse_cursor_next_point(cursors[r], &points[r], &more[r]);
    }
    for (int r = 0; r < RUNS; r++)
        cse_cursor_close(&cursors[r]);
    return status;
}

cse_status cse_run_compare(const char *const runs[RUNS], const cse_compared_names *pairs,
                           cse_run_comparison *result)
{
    reading c = { .result = result, .pairs = pairs };
    *result = (cse_run_comparison){ 0 };
    index_pairs(&c);
    cse_status status = open_steps(&c, runs);
    if (status == CSE_OK)
        status = compare_steps(&c);
    if (status == CSE_OK)
        status = compare_losses(&c);
    if (status == CSE_OK && result->common_steps == 0 && result->losses == 0)
        status = cse_fail(CSE_NO_INPUT, "%s and %s have no step in common", runs[0], runs[1]);
    result->equal = !result->differs && result->first_loss_step == 0;
    for (int r = 0; r < RUNS; r++) {
        clear_step(&c.at[r]);
        free(c.at[r].tensors);
        cse_cursor_close(&c.at[r].cursor);
        cse_store_reader_close(&c.readers[r]);
        cse_name_index_clear(&c.paired[r]);
    }
    return status;
}

void cse_run_comparison_clear(cse_run_comparison *comparison)
{
    for (int r = 0; r < RUNS; r++)
        clear_tensor(&comparison->first[r]);
}
