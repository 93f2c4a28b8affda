/* Points of all curves and the run's states are taken in the order of their times, one by one, so
 * that a run of any length needs no memory. */
#include "run/alerts/alert_watch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "store/cursor.h"

/* Every step of training, and where these are quick one in a quarter of a second, has a rate. */
static const char steps_series[] = "samples_per_second";

typedef struct alert {
    cse_alert_expression *expression;
    bool holds;
} alert;

/* Who gets the points of a curve: a series of an alert. */
typedef struct recipient {
    int alert, series;
} recipient;

/* A curve that is read. */
typedef struct curve {
    const char *name; /* of the expression that names it */
    recipient *recipients;
    int recipient_count, recipient_capacity;
    int64_t last_step;  /* of this attempt: its points behind it are new */
    cse_cursor *cursor; /* during a read; NULL: it is at its end */
    cse_point next;
} curve;

typedef struct change_of_state {
    int64_t time_ms;
    cse_run_state state;
} change_of_state;

struct cse_alert_watch {
    alert alerts[CSE_ALERTS_MOST];
    int count;
    curve *curves; /* the first is that of steps */
    int curve_count, curve_capacity;
    change_of_state *changes; /* those that were read, of which `change` is the next */
    int change_count, change_capacity, change;
    int64_t last_transition;
    int64_t told_ms;
    int64_t attempt; /* 0: nothing has been read */
    cse_run_state state;
    int64_t end_step;      /* of the run; 0: unknown */
    int64_t step, time_ms; /* of what was taken last */
    cse_text values;
};

/* ---- what is watched ---- */

static curve *curve_of(cse_alert_watch *watch, const char *name)
{
    for (int i = 0; i < watch->curve_count; i++)
        if (strcmp(watch->curves[i].name, name) == 0)
            return &watch->curves[i];
    CSE_GROW(watch->curves, watch->curve_count, watch->curve_capacity);
    watch->curves[watch->curve_count] = (curve){ .name = name, .last_step = -1 };
    return &watch->curves[watch->curve_count++];
}

cse_alert_watch *cse_alert_watch_new(void)
{
    cse_alert_watch *watch = cse_calloc(1, sizeof *watch);
    curve_of(watch, steps_series);
    return watch;
}

static void release(cse_alert_watch *watch)
{
    for (int i = 0; i < watch->count; i++)
        cse_alert_expression_destroy(&watch->alerts[i].expression);
    for (int i = 0; i < watch->curve_count; i++)
        free(watch->curves[i].recipients);
    free(watch->curves);
    free(watch->changes);
    cse_text_clear(&watch->values);
    free(watch);
}

void cse_alert_watch_destroy(cse_alert_watch **watch)
{
    if (*watch != NULL)
        release(*watch);
    *watch = NULL;
}

cse_status cse_alert_watch_add(cse_alert_watch *watch, const char *condition)
{
    cse_alert_expression *e = NULL;
    if (watch->count == CSE_ALERTS_MOST)
        return cse_fail(CSE_USAGE, "a run may have %d alerts", CSE_ALERTS_MOST);
    CSE_TRY(cse_alert_expression_parse(condition, &e));
    for (int s = 0; s < cse_alert_expression_series_count(e); s++) {
        curve *c = curve_of(watch, cse_alert_expression_series(e, s));
        CSE_GROW(c->recipients, c->recipient_count, c->recipient_capacity);
        c->recipients[c->recipient_count++] = (recipient){ .alert = watch->count, .series = s };
    }
    watch->alerts[watch->count++].expression = e;
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

/* The next point of the curve, if any. */
static cse_status advance(cse_alert_watch *watch, curve *c)
{
    bool found;
    CSE_TRY(cse_cursor_next_point(c->cursor, &c->next, &found));
    if (!found)
        cse_cursor_close(&c->cursor);
    else if (cse_cursor_point_attempt(c->cursor) == watch->attempt)
        c->last_step = c->next.step;
    return CSE_OK;
}

static void close_curves(cse_alert_watch *watch)
{
    for (int i = 0; i < watch->curve_count; i++)
        cse_cursor_close(&watch->curves[i].cursor);
}

/* All points, or those that are new of this attempt. */
static cse_status open_curves(cse_alert_watch *watch, cse_store_reader *reader, bool all)
{
    for (int i = 0; i < watch->curve_count; i++) {
        curve *c = &watch->curves[i];
        CSE_TRY(
            all ? cse_cursor_points(reader, c->name, &c->cursor)
                : cse_cursor_new_points(reader, c->name, watch->attempt, c->last_step, &c->cursor));
        CSE_TRY(advance(watch, c));
    }
    return CSE_OK;
}

static void take_transition(void *self, const cse_row *transition)
{
    cse_alert_watch *watch = self;
    watch->last_transition = transition->fields[0].integer;
    if (transition->fields[3].text == NULL)
        return;
    CSE_GROW(watch->changes, watch->change_count, watch->change_capacity);
    watch->changes[watch->change_count++] =
        (change_of_state){ .time_ms = transition->fields[1].integer,
                           .state = cse_run_state_of(transition->fields[3].text) };
}

static cse_status read_transitions(cse_alert_watch *watch, cse_store_reader *reader)
{
    int64_t before;
    watch->change_count = watch->change = 0;
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

/* As if nothing had been read. */
static void forget(cse_alert_watch *watch)
{
    close_curves(watch);
    for (int i = 0; i < watch->count; i++) {
        cse_alert_expression_forget(watch->alerts[i].expression);
        watch->alerts[i].holds = false;
    }
    for (int i = 0; i < watch->curve_count; i++)
        watch->curves[i].last_step = -1;
    watch->last_transition = watch->attempt = watch->step = watch->time_ms = 0;
    watch->state = CSE_RUN_NONE;
}

static cse_status open_all(cse_alert_watch *watch, cse_store_reader *reader, int64_t attempt)
{
    forget(watch);
    watch->attempt = attempt;
    CSE_TRY(read_transitions(watch, reader));
    return open_curves(watch, reader, true);
}

/* The attempt does steps again that were read of the one before, and are gone by now. */
static bool goes_back(const cse_alert_watch *watch)
{
    const curve *steps = &watch->curves[0];
    return steps->cursor != NULL && steps->next.step <= watch->step;
}

static cse_status open_new(cse_alert_watch *watch, cse_store_reader *reader)
{
    CSE_TRY(read_transitions(watch, reader));
    CSE_TRY(open_curves(watch, reader, false));
    return goes_back(watch) ? open_all(watch, reader, watch->attempt) : CSE_OK;
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

static void begin_silences(cse_alert_watch *watch, int64_t time_ms)
{
    for (int i = 0; i < watch->count; i++)
        cse_alert_expression_begin(watch->alerts[i].expression, time_ms);
}

static void take_change(cse_alert_watch *watch)
{
    const change_of_state *change = &watch->changes[watch->change++];
    const bool trained = trains(watch);
    watch->state = change->state;
    if (trains(watch) && !trained)
        begin_silences(watch, change->time_ms);
}

static cse_status take_point(cse_alert_watch *watch, curve *c)
{
    const cse_alert_value value = { .step = c->next.step,
                                    .time_ms = c->next.time_ms,
                                    .value = c->next.value };
    for (int i = 0; i < c->recipient_count; i++)
        cse_alert_expression_add(watch->alerts[c->recipients[i].alert].expression,
                                 c->recipients[i].series, &value);
    watch->step = value.step > watch->step ? value.step : watch->step;
    for (int i = 0; c == &watch->curves[0] && i < watch->count; i++)
        cse_alert_expression_step(watch->alerts[i].expression, watch->step, value.time_ms);
    return advance(watch, c);
}

/* What comes next: a point of a curve, or with NULL a change of state, which has no step. */
typedef struct event {
    curve *curve;
    int64_t time_ms, step;
} event;

static bool find_next(const cse_alert_watch *watch, event *next)
{
    bool found = watch->change < watch->change_count;
    if (found)
        *next = (event){ .time_ms = watch->changes[watch->change].time_ms };
    for (int i = 0; i < watch->curve_count; i++) {
        curve *c = &watch->curves[i];
        if (c->cursor == NULL ||
            (found && (c->next.time_ms > next->time_ms ||
                       (c->next.time_ms == next->time_ms && c->next.step >= next->step))))
            continue;
        *next = (event){ .curve = c, .time_ms = c->next.time_ms, .step = c->next.step };
        found = true;
    }
    return found;
}

/* Conditions are looked at when all that came at one time for one step was taken. */
static cse_status take_all(cse_alert_watch *watch, cse_alert_take *take, void *self)
{
    event now, next;
    for (bool found = find_next(watch, &now); found; now = next) {
        look_between(watch, now.time_ms, take, self);
        if (now.curve == NULL)
            take_change(watch);
        else
            CSE_TRY(take_point(watch, now.curve));
        watch->time_ms = now.time_ms > watch->time_ms ? now.time_ms : watch->time_ms;
        found = find_next(watch, &next);
        if (!found || next.time_ms != now.time_ms || next.step != now.step)
            look(watch, watch->time_ms, take, self);
    }
    return CSE_OK;
}

cse_status cse_alert_watch_read(cse_alert_watch *watch, cse_store_reader *reader, int64_t now_ms,
                                cse_alert_take *take, void *self)
{
    cse_run_status run;
    CSE_TRY(cse_store_reader_status(reader, &run));
    watch->end_step = end_step_of(reader);
    cse_status status = watch->attempt == run.attempt ? open_new(watch, reader)
                                                      : open_all(watch, reader, run.attempt);
    if (status == CSE_OK)
        status = take_all(watch, take, self);
    close_curves(watch);
    if (status == CSE_OK && now_ms > 0)
        look_between(watch, now_ms, take, self);
    watch->told_ms = watch->time_ms > watch->told_ms ? watch->time_ms : watch->told_ms;
    if (status != CSE_OK)
        forget(watch); /* a curve may have been read further than another: all is read anew */
    return status;
}
