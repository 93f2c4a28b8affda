/* A ring of the newest points, and running figures of all of them. */
#include "run/alerts/alert_history.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"

void cse_alert_history_reserve(cse_alert_history *history, int points)
{
    if (points <= history->size)
        return;
    free(history->points);
    history->points = cse_calloc((size_t)points, sizeof *history->points);
    history->size = points;
}

void cse_alert_history_clear(cse_alert_history *history)
{
    free(history->points);
    *history = (cse_alert_history){ .points = NULL };
}

void cse_alert_history_add(cse_alert_history *h, int64_t step, double value, int64_t time_ms)
{
    if (h->count == 0)
        h->first = value;
    h->points[h->count++ % h->size] = (struct cse_alert_point){ .step = step, .value = value };
    h->time_ms = time_ms;
    if (!isfinite(value))
        return;
    h->minimum = h->finite == 0 || value < h->minimum ? value : h->minimum;
    h->maximum = h->finite == 0 || value > h->maximum ? value : h->maximum;
    h->finite++;
    const double before = value - h->mean;
    h->mean += before / (double)h->finite;
    h->squares += before * (value - h->mean);
}

/* `back` 0: the newest. */
static struct cse_alert_point point_of(const cse_alert_history *h, int64_t back)
{
    return h->points[(h->count - 1 - back) % h->size];
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const cse_alert_history *h, int window, int64_t finite)
{
    double *sorted = cse_calloc((size_t)finite, sizeof *sorted), middle;
    int64_t count = 0;
    for (int i = 0; i < window; i++)
        if (isfinite(point_of(h, i).value))
            sorted[count++] = point_of(h, i).value;
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return middle;
}

/* The sums of a window, as those of all points. */
static cse_alert_history window_of(const cse_alert_history *h, int window)
{
    struct cse_alert_point one;
    cse_alert_history part = { .points = &one, .size = 1 };
    for (int i = window - 1; i >= 0; i--)
        cse_alert_history_add(&part, 0, point_of(h, i).value, 0);
    part.points = NULL;
    return part;
}

static double statistic_of(const cse_alert_history *h, cse_alert_function function)
{
    switch (function) {
    case CSE_ALERT_MIN:
        return h->minimum;
    case CSE_ALERT_MAX:
        return h->maximum;
    case CSE_ALERT_MEAN:
        return h->mean;
    case CSE_ALERT_SUM:
        return h->mean * (double)h->finite;
    default: /* the standard deviation of a sample */
        return h->finite > 1 ? sqrt(h->squares / (double)(h->finite - 1)) : 0;
    }
}

/* A series keeps its value until the next point. */
static double change_of(const cse_alert_history *h, const cse_alert_view *view)
{
    const int64_t kept = h->count < h->size ? h->count : h->size, from = view->step - view->window;
    int64_t back = 0;
    if (view->window == 0)
        return point_of(h, 0).value - h->first;
    while (back < kept && point_of(h, back).step > from)
        back++;
    return point_of(h, 0).value - (back < kept ? point_of(h, back).value : h->first);
}

bool cse_alert_history_value(const cse_alert_history *h, const cse_alert_view *view, double *value)
{
    if (h->count == 0)
        return false;
    if (view->function == CSE_ALERT_LAST || view->function == CSE_ALERT_CHANGE) {
        *value = view->function == CSE_ALERT_LAST ? point_of(h, 0).value : change_of(h, view);
        return true;
    }
    if (h->count < view->window)
        return false;
    const cse_alert_history part = view->window > 0 ? window_of(h, view->window) : *h;
    if (part.finite == 0)
        return false;
    *value = view->function == CSE_ALERT_MEDIAN ? median_of(h, view->window, part.finite)
                                                : statistic_of(&part, view->function);
    return true;
}
