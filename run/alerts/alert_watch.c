/* Rows of all curves and of the run's states are taken in the order of their times. */
#include "run/alerts/alert_watch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/alerts/alert_syntax.h"
#include "store/cursor.h"

/* Every step of training, and where these are quick one in a quarter of a second, has a rate. */
static const char steps_series[] = "samples_per_second";

enum { STATE_ROW = -1, STEP_ROW = -2 };

typedef struct alert {
    cse_alert_expression *expression;
    bool holds;
    int64_t last_steps[CSE_ALERT_SERIES_MOST]; /* by series, of its newest point */
} alert;

/* A point of a series of an alert, a step, or a change of state. */
typedef struct row {
    int64_t time_ms, step;
    int alert, series;
    double value;
    cse_run_state state;
} row;

struct cse_alert_watch {
    alert alerts[CSE_ALERTS_MOST];
    int count;
    int64_t told_ms;
    int64_t attempt; /* 0: nothing has been read */
    int64_t last_transition, last_step;
    cse_run_state state;
    int64_t end_step;      /* of the run; 0: unknown */
    int64_t step, time_ms; /* of the last row */
    row *rows;
    size_t row_count, row_capacity;
    cse_text values;
};

cse_alert_watch *cse_alert_watch_new(void)
{
    return cse_calloc(1, sizeof(cse_alert_watch));
}

void cse_alert_watch_destroy(cse_alert_watch **watch)
{
    for (int i = 0; *watch != NULL && i < (*watch)->count; i++)
        cse_alert_expression_destroy(&(*watch)->alerts[i].expression);
    if (*watch != NULL) {
        free((*watch)->rows);
        cse_text_clear(&(*watch)->values);
    }
    free(*watch);
    *watch = NULL;
}

cse_status cse_alert_watch_add(cse_alert_watch *watch, const char *condition)
{
    if (watch->count == CSE_ALERTS_MOST)
        return cse_fail(CSE_USAGE, "a run may have %d alerts", CSE_ALERTS_MOST);
    CSE_TRY(cse_alert_expression_parse(condition, &watch->alerts[watch->count].expression));
    watch->count++;
    return CSE_OK;
}

void cse_alert_watch_told(cse_alert_watch *watch, int64_t time_ms)
{
    watch->told_ms = time_ms;
}

const char *cse_alert_watch_unknown(const cse_alert_watch *watch, int index)
{
    const cse_alert_expression *e = watch->alerts[index].expression;
    for (int i = 0; i < cse_alert_expression_series_count(e); i++)
        if (!cse_alert_expression_knows(e, i))
            return cse_alert_expression_series(e, i);
    return NULL;
}

/* ---- reading ---- */

static void add_row(cse_alert_watch *watch, row added)
{
    CSE_GROW(watch->rows, watch->row_count, watch->row_capacity);
    watch->rows[watch->row_count++] = added;
}

static cse_status open_points(const cse_alert_watch *watch, cse_store_reader *reader,
                              const char *series, int64_t last_step, cse_cursor **cursor)
{
    return watch->attempt == 0
               ? cse_cursor_points(reader, series, cursor)
               : cse_cursor_new_points(reader, series, watch->attempt, last_step, cursor);
}

/* Appends the new points of a series as rows like `like`. */
static cse_status read_points(cse_alert_watch *watch, cse_store_reader *reader, const char *series,
                              row like, int64_t *last_step)
{
    cse_cursor *cursor = NULL;
    cse_point point;
    bool found = true;
    CSE_TRY(open_points(watch, reader, series, *last_step, &cursor));
    cse_status status = cse_cursor_next_point(cursor, &point, &found);
    while (status == CSE_OK && found) {
        like.time_ms = point.time_ms;
        like.step = point.step;
        like.value = point.value;
        add_row(watch, like);
        *last_step = point.step > *last_step ? point.step : *last_step;
        status = cse_cursor_next_point(cursor, &point, &found);
    }
    cse_cursor_close(&cursor);
    return status;
}

static void take_transition(void *self, const cse_row *transition)
{
    cse_alert_watch *watch = self;
    row added = { .alert = STATE_ROW, .time_ms = transition->fields[1].integer };
    watch->last_transition = transition->fields[0].integer;
    if (transition->fields[3].text == NULL)
        return;
    added.state = cse_run_state_of(transition->fields[3].text);
    add_row(watch, added);
}

static cse_status read_transitions(cse_alert_watch *watch, cse_store_reader *reader)
{
    int64_t before;
    do {
        before = watch->last_transition;
        CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_TRANSITION,
                                      &(cse_store_query){ .after = before }, take_transition,
                                      watch));
    } while (watch->last_transition != before);
    return CSE_OK;
}

static int64_t end_step_of(cse_store_reader *reader)
{
    cse_text text = { 0 };
    const bool found = cse_store_reader_key(reader, "run_last_step", &text);
    const int64_t step = found ? strtoll(text.data, NULL, 10) : 0;
    cse_text_clear(&text);
    return step;
}

static cse_status read_rows(cse_alert_watch *watch, cse_store_reader *reader)
{
    watch->row_count = 0;
    CSE_TRY(read_transitions(watch, reader));
    CSE_TRY(
        read_points(watch, reader, steps_series, (row){ .alert = STEP_ROW }, &watch->last_step));
    for (int i = 0; i < watch->count; i++) {
        alert *a = &watch->alerts[i];
        for (int s = 0; s < cse_alert_expression_series_count(a->expression); s++)
            CSE_TRY(read_points(watch, reader, cse_alert_expression_series(a->expression, s),
                                (row){ .alert = i, .series = s }, &a->last_steps[s]));
    }
    return CSE_OK;
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->time_ms != y->time_ms)
        return (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
    if (x->step != y->step)
        return (x->step > y->step) - (x->step < y->step);
    return (x->alert > y->alert) - (x->alert < y->alert);
}

/* ---- the order of events ---- */

static void look(cse_alert_watch *watch, int64_t time_ms, cse_alert_take *take, void *self)
{
    for (int i = 0; i < watch->count; i++) {
        alert *a = &watch->alerts[i];
        const bool holds = cse_alert_expression_holds(a->expression, time_ms);
        if (holds == a->holds)
            continue;
        a->holds = holds;
        if (time_ms <= watch->told_ms)
            continue;
        watch->values.size = 0;
        cse_text_add(&watch->values, "%s", "");
        cse_alert_expression_describe(a->expression, time_ms, &watch->values);
        take(self, &(cse_alert_change){ .alert = i,
                                        .condition = cse_alert_expression_text(a->expression),
                                        .values = watch->values.data,
                                        .begins = holds,
                                        .step = watch->step,
                                        .time_ms = time_ms });
    }
}

/* Nothing is expected of a run that does not train, or has done its last step. */
static bool trains(const cse_alert_watch *watch)
{
    if (watch->end_step > 0 && watch->step >= watch->end_step)
        return false;
    return watch->state == CSE_RUN_RUNNING || watch->state == CSE_RUN_RECOVERING;
}

/* Silences that become long enough before `until_ms`. */
static void look_between(cse_alert_watch *watch, int64_t until_ms, cse_alert_take *take, void *self)
{
    while (trains(watch)) {
        int64_t due = INT64_MAX;
        for (int i = 0; i < watch->count; i++) {
            const int64_t at =
                cse_alert_expression_due(watch->alerts[i].expression, watch->time_ms);
            due = at < due ? at : due;
        }
        if (due >= until_ms)
            return;
        watch->time_ms = due;
        look(watch, due, take, self);
    }
}

static void take_row(cse_alert_watch *watch, const row *r)
{
    const bool trained = trains(watch);
    if (r->alert >= 0) {
        cse_alert_expression_add(
            watch->alerts[r->alert].expression, r->series,
            &(cse_alert_value){ .step = r->step, .time_ms = r->time_ms, .value = r->value });
    } else if (r->alert == STATE_ROW) {
        watch->state = r->state;
    }
    if (r->step > watch->step)
        watch->step = r->step;
    for (int i = 0; i < watch->count; i++) {
        cse_alert_expression *e = watch->alerts[i].expression;
        if (r->alert == STEP_ROW)
            cse_alert_expression_step(e, watch->step, r->time_ms);
        if (trains(watch) && !trained)
            cse_alert_expression_begin(e, r->time_ms);
    }
}

/* As if nothing had been read. */
static cse_status forget(cse_alert_watch *watch)
{
    cse_alert_watch fresh = { .count = 0, .told_ms = watch->told_ms };
    for (int i = 0; i < watch->count; i++) {
        const cse_status status =
            cse_alert_watch_add(&fresh, cse_alert_expression_text(watch->alerts[i].expression));
        cse_alert_expression_destroy(&watch->alerts[i].expression);
        if (status != CSE_OK)
            return status;
    }
    fresh.rows = watch->rows;
    fresh.row_capacity = watch->row_capacity;
    fresh.values = watch->values;
    *watch = fresh;
    return CSE_OK;
}

/* Whether the attempt repeats steps of the one before, whose rows are gone by now. */
static bool goes_back(const cse_alert_watch *watch)
{
    for (size_t i = 0; i < watch->row_count; i++)
        if (watch->rows[i].alert == STEP_ROW && watch->rows[i].step <= watch->step)
            return watch->attempt != 0;
    return false;
}

cse_status cse_alert_watch_read(cse_alert_watch *watch, cse_store_reader *reader, int64_t now_ms,
                                cse_alert_take *take, void *self)
{
    cse_run_status status;
    CSE_TRY(cse_store_reader_status(reader, &status));
    if (watch->attempt != 0 && watch->attempt != status.attempt)
        CSE_TRY(forget(watch));
    CSE_TRY(read_rows(watch, reader));
    if (goes_back(watch)) {
        CSE_TRY(forget(watch));
        CSE_TRY(read_rows(watch, reader));
    }
    watch->attempt = status.attempt;
    watch->end_step = end_step_of(reader);
    qsort(watch->rows, watch->row_count, sizeof *watch->rows, by_time);
    for (size_t i = 0; i < watch->row_count; i++) {
        const row *r = &watch->rows[i];
        const bool is_last =
            i + 1 == watch->row_count || r[1].time_ms != r->time_ms || r[1].step != r->step;
        look_between(watch, r->time_ms, take, self);
        take_row(watch, r);
        watch->time_ms = r->time_ms > watch->time_ms ? r->time_ms : watch->time_ms;
        if (is_last)
            look(watch, watch->time_ms, take, self);
    }
    if (now_ms > 0)
        look_between(watch, now_ms, take, self);
    watch->told_ms = watch->time_ms > watch->told_ms ? watch->time_ms : watch->told_ms;
    return CSE_OK;
}
