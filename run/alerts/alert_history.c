/* Summaries are never undone, which would lose digits after a large value: those of two parts are
 * joined by the formula of Chan, Golub and LeVeque (1979). */
#include "run/alerts/alert_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

static cse_alert_summary join(const cse_alert_summary *a, const cse_alert_summary *b)
{
    if (a->count == 0 || b->count == 0)
        return a->count == 0 ? *b : *a;
    const double count = (double)(a->count + b->count), apart = b->mean - a->mean;
    return (cse_alert_summary){
        .count = a->count + b->count,
        .minimum = fmin(a->minimum, b->minimum),
        .maximum = fmax(a->maximum, b->maximum),
        .mean = a->mean + apart * (double)b->count / count,
        .squares =
            a->squares + b->squares + apart * apart * (double)a->count * (double)b->count / count,
    };
}

static cse_alert_summary with(const cse_alert_summary *summary, double value)
{
    if (!isfinite(value))
        return *summary;
    return join(summary, &(cse_alert_summary){
                             .count = 1, .minimum = value, .maximum = value, .mean = value });
}

/* ---- room ---- */

static bool has_window(const cse_alert_view *view)
{
    return view->window > 0 && view->function != CSE_ALERT_LAST &&
           view->function != CSE_ALERT_CHANGE;
}

static const cse_alert_window *window_of(const cse_alert_history *history, int size)
{
    for (int i = 0; i < history->window_count; i++)
        if (history->windows[i].size == size)
            return &history->windows[i];
    return NULL;
}

void cse_alert_history_reserve(cse_alert_history *h, const cse_alert_view *view)
{
    const int points = view->window + 1; /* a change is from the point before them */
    if (points > h->size) {
        h->points = cse_realloc(h->points, (size_t)points * sizeof *h->points);
        h->size = points;
    }
    if (!has_window(view) || window_of(h, view->window) != NULL)
        return;
    const size_t count = (size_t)h->window_count + 1, size = (size_t)view->window;
    h->windows = cse_realloc(h->windows, count * sizeof *h->windows);
    h->windows[h->window_count++] =
        (cse_alert_window){ .size = view->window,
                            .before = cse_calloc(size, sizeof(cse_alert_summary)),
                            .sorted = cse_calloc(size, sizeof(double)) };
}

void cse_alert_history_clear(cse_alert_history *history)
{
    for (int i = 0; i < history->window_count; i++) {
        free(history->windows[i].before);
        free(history->windows[i].sorted);
    }
    free(history->windows);
    free(history->points);
    *history = (cse_alert_history){ .points = NULL };
}

/* ---- points ---- */

/* `back` 0: the newest. */
static cse_alert_point point_of(const cse_alert_history *h, int64_t back)
{
    return h->points[(h->count - 1 - back) % h->size];
}

/* How many of the window are below the value. */
static int place_of(const cse_alert_window *w, double value)
{
    int first = 0, end = w->sorted_count;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (w->sorted[middle] < value)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void leave(cse_alert_window *w, double value)
{
    if (!isfinite(value))
        return;
    const int at = place_of(w, value);
    w->sorted_count--;
    memmove(w->sorted + at, w->sorted + at + 1, (size_t)(w->sorted_count - at) * sizeof *w->sorted);
}

static void enter(cse_alert_window *w, double value)
{
    if (!isfinite(value))
        return;
    const int at = place_of(w, value);
    memmove(w->sorted + at + 1, w->sorted + at, (size_t)(w->sorted_count - at) * sizeof *w->sorted);
    w->sorted[at] = value;
    w->sorted_count++;
}

/* The block is whole: the next windows have its end and the beginning of the next one. */
static void end_block(const cse_alert_history *h, cse_alert_window *w)
{
    cse_alert_summary rest = { .count = 0 };
    for (int i = w->size - 1; i >= 0; i--) {
        rest = with(&rest, point_of(h, w->size - 1 - i).value);
        w->before[i] = rest;
    }
    w->block = (cse_alert_summary){ .count = 0 };
}

void cse_alert_history_add(cse_alert_history *h, int64_t step, double value, int64_t time_ms)
{
    if (h->count == 0)
        h->first = value;
    for (int i = 0; i < h->window_count; i++)
        if (h->count >= h->windows[i].size)
            leave(&h->windows[i], point_of(h, h->windows[i].size - 1).value);
    h->points[h->count++ % h->size] = (cse_alert_point){ .step = step, .value = value };
    h->time_ms = time_ms;
    h->all = with(&h->all, value);
    for (int i = 0; i < h->window_count; i++) {
        cse_alert_window *w = &h->windows[i];
        enter(w, value);
        w->block = with(&w->block, value);
        if (h->count % w->size == 0)
            end_block(h, w);
    }
}

/* ---- values ---- */

static cse_alert_summary summary_of(const cse_alert_history *h, const cse_alert_window *w)
{
    return w != NULL ? join(&w->before[h->count % w->size], &w->block) : h->all;
}

static double statistic_of(const cse_alert_summary *summary, cse_alert_function function)
{
    switch (function) {
    case CSE_ALERT_MIN:
        return summary->minimum;
    case CSE_ALERT_MAX:
        return summary->maximum;
    case CSE_ALERT_MEAN:
        return summary->mean;
    case CSE_ALERT_SUM:
        return summary->mean * (double)summary->count;
    default: /* the standard deviation of a sample */
        return summary->count > 1 ? sqrt(summary->squares / (double)(summary->count - 1)) : 0;
    }
}

/* A series keeps its value until the next point. */
static double change_of(const cse_alert_history *h, const cse_alert_view *view)
{
    const int64_t kept = h->count < h->size ? h->count : h->size, from = view->step - view->window;
    int64_t near = 0, far = kept;
    if (view->window == 0)
        return point_of(h, 0).value - h->first;
    /* The newest point of step `from` or before, which none of those nearer than `near` is. */
    while (near < far) {
        const int64_t middle = near + (far - near) / 2;
        if (point_of(h, middle).step > from)
            near = middle + 1;
        else
            far = middle;
    }
    return point_of(h, 0).value - (near < kept ? point_of(h, near).value : h->first);
}

bool cse_alert_history_value(const cse_alert_history *h, const cse_alert_view *view, double *value)
{
    if (h->count == 0)
        return false;
    if (view->function == CSE_ALERT_LAST || view->function == CSE_ALERT_CHANGE) {
        *value = view->function == CSE_ALERT_LAST ? point_of(h, 0).value : change_of(h, view);
        return true;
    }
    const cse_alert_window *w = view->window > 0 ? window_of(h, view->window) : NULL;
    const cse_alert_summary summary = summary_of(h, w);
    if (h->count < view->window || summary.count == 0)
        return false;
    *value = view->function != CSE_ALERT_MEDIAN
                 ? statistic_of(&summary, view->function)
                 : (w->sorted[(w->sorted_count - 1) / 2] + w->sorted[w->sorted_count / 2]) / 2;
    return true;
}
