/* One pass over the points, which keeps a window of each curve. */
#include "run/travel/curve_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "store/reader.h"

/* Points as they are, never buckets: a step is asked for. */
#define ALL_POINTS (INT64_MAX / 2)
/* Of a curve that stood at 0, any other value has left it. */
#define LEAST_DEVIATION 1e-30

/* Sorts the values. */
static double upper_median(double *values, int count)
{
    for (int i = 1; i < count; i++) {
        const double value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    return values[count / 2];
}

static cse_curve_jump judge(const cse_curve_events *curve, int64_t step, double value)
{
    double values[CSE_EVENT_WINDOW];
    const int count = curve->finite < CSE_EVENT_WINDOW ? (int)curve->finite : CSE_EVENT_WINDOW;
    memcpy(values, curve->window, (size_t)count * sizeof *values);
    const double median = upper_median(values, count);
    for (int i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
    const double deviation =
        fmax(upper_median(values, count), fmax(fabs(median) / 100, LEAST_DEVIATION));
    return (cse_curve_jump){
        .step = step, .value = value, .median = median, .deviations = (value - median) / deviation
    };
}

static void take_jump(cse_curve_events *curve, cse_curve_jump jump)
{
    if (!(jump.deviations > CSE_EVENT_DEVIATIONS)) {
        curve->stretch.from = 0;
    } else {
        if (curve->stretch.from == 0)
            curve->stretch.from = jump.step;
        jump.from = curve->stretch.from;
    }
    if (jump.deviations > curve->jump.deviations)
        curve->jump = jump;
}

void cse_curve_events_add(cse_curve_events *curve, int64_t step, double value)
{
    curve->points++;
    curve->last_step = step;
    if (!isfinite(value)) {
        if (curve->not_finite++ == 0)
            curve->not_finite_step = step;
        return;
    }
    if (curve->finite >= CSE_EVENT_LEAST)
        take_jump(curve, judge(curve, step, value));
    curve->window[curve->finite++ % CSE_EVENT_WINDOW] = value;
}

static bool is_judged(const char *name)
{
    return strcmp(name, "loss") == 0 || strcmp(name, "model_wise_grad_norm") == 0 ||
           strcmp(name, "grad_norm") == 0 || strncmp(name, "grad_norm/", 10) == 0 ||
           strncmp(name, "per_layer_grad_norm/", 20) == 0;
}

/* The curves of one name follow each other, one of each attempt. */
static void take(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    cse_judged_curves *events = self;
    if (!is_judged(curve->name))
        return;
    if (events->count == 0 || strcmp(events->curves[events->count - 1].name, curve->name) != 0) {
        CSE_GROW(events->curves, events->count, events->capacity);
        events->curves[events->count++] = (cse_curve_events){ .name = cse_strdup(curve->name) };
    }
    if (row != NULL)
        cse_curve_events_add(&events->curves[events->count - 1], row->last_step, row->last);
}

cse_status cse_judged_curves_find(const char *model_dir, cse_judged_curves *events)
{
    cse_store_reader *reader = NULL;
    *events = (cse_judged_curves){ .count = 0 };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    const cse_metrics_query query = { .max_points = ALL_POINTS };
    const cse_status status = cse_store_reader_metrics(reader, &query, take, events);
    cse_store_reader_close(&reader);
    if (status == CSE_OK && events->count == 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s: its run store has no curve of the loss or of a norm of gradients: no "
                        "step of a training was committed",
                        model_dir);
    return status;
}

void cse_judged_curves_clear(cse_judged_curves *events)
{
    for (int i = 0; i < events->count; i++)
        free(events->curves[i].name);
    free(events->curves);
    *events = (cse_judged_curves){ .count = 0 };
}
