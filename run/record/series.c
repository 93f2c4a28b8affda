/* A step's points go into the store's queue in one call. */
#include "run/record/series.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "store/reader.h"

enum { LEVEL_STEPS = 64 }; /* a constant value is stored at multiples of this many steps */
#define RATE_INTERVAL_NS INT64_C(250000000)

/* A fetched scalar, or a constant (fetch -1). */
typedef struct curve {
    int fetch, series;
    double last;
    int64_t last_step, stored_step;
} curve;

struct cse_series {
    cse_store *store;
    const cse_step *step;
    int64_t batch_size, last_step; /* of the execution */
    curve curves[CSE_MOST_SERIES]; /* constants come first */
    int count, constants;
    int rate_series;
    int64_t rate_ns, rate_step; /* 0: no step yet */
};

cse_series *cse_series_new(cse_store *store)
{
    cse_series *series = cse_calloc(1, sizeof *series);
    series->store = store;
    return series;
}

void cse_series_destroy(cse_series **series)
{
    free(*series);
    *series = NULL;
}

void cse_series_add_constant(cse_series *series, const char *name, double value)
{
    assert(series->step == NULL);
    if (series->constants < CSE_MOST_SERIES)
        series->curves[series->constants++] =
            (curve){ .fetch = -1,
                     .series = cse_store_series(series->store, name),
                     .last = value,
                     .last_step = -1,
                     .stored_step = -1 };
}

static void report_dropped(const cse_series *series, int dropped, const char *first)
{
    if (dropped > 0)
        cse_log_line(CSE_LOG_WARNING,
                     "run store: a step has %d named values more than the %d that are recorded; "
                     "the first that is left out is \"%s\"",
                     dropped, CSE_MOST_SERIES, first);
    cse_store_set_integer(series->store, "dropped_series", dropped);
}

/* Between two validations a curve goes on. */
static curve curve_of(const cse_series *series, const char *name, int fetch)
{
    const int number = cse_store_series(series->store, name);
    for (int i = series->constants; i < series->count; i++)
        if (series->curves[i].series == number && series->curves[i].stored_step >= 0) {
            curve same = series->curves[i];
            same.fetch = fetch;
            return same;
        }
    return (curve){
        .fetch = fetch, .series = number, .last = (double)NAN, .last_step = -1, .stored_step = -1
    };
}

static void find_curves(cse_series *series, const cse_graph *graph)
{
    int dropped = 0, count = series->constants;
    const char *first_dropped = NULL;
    curve *found = cse_calloc(CSE_MOST_SERIES, sizeof *found);
    for (int i = 0; i < graph->fetch_count; i++) {
        const cse_fetch_entry *fetch = &graph->fetches[i];
        if (!cse_fetch_is_metric(fetch))
            continue;
        if (count == CSE_MOST_SERIES) {
            first_dropped = dropped++ == 0 ? fetch->name : first_dropped;
            continue;
        }
        found[count++] = curve_of(series, fetch->name, i);
    }
    for (int i = series->constants; i < count; i++)
        series->curves[i] = found[i];
    series->count = count;
    free(found);
    report_dropped(series, dropped, first_dropped);
}

void cse_series_start(cse_series *series, const cse_step *step, const cse_session_report *report)
{
    series->step = step;
    series->rate_ns = 0;
    series->batch_size = report->batch_size;
    series->last_step = report->last_step;
    if (!step->training)
        return;
    find_curves(series, step->graph);
    series->rate_series = cse_store_series(series->store, "samples_per_second");
}

void cse_series_go_on(cse_series *series, const char *model_dir, int64_t first_step)
{
    cse_store_reader *reader = NULL;
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return; /* the points of its first step are stored, then */
    for (int i = 0; i < series->count; i++) {
        curve *c = &series->curves[i];
        cse_point point;
        if (!cse_store_reader_point_before(reader, c->series, first_step, &point))
            continue;
        if (c->fetch >= 0)
            c->last = point.value;
        else if (point.value != c->last)
            continue; /* another rate than before */
        c->last_step = first_step - 1;
        c->stored_step = point.step;
    }
    cse_store_reader_close(&reader);
}

void cse_series_pause(cse_series *series)
{
    series->rate_ns = 0;
}

double cse_fetched_number(const cse_fetch_entry *fetch, const unsigned char *fetched)
{
    const unsigned char *at = fetched + fetch->offset_bytes;
    int32_t integer;
    float number;
    memcpy(&integer, at, sizeof integer);
    memcpy(&number, at, sizeof number);
    return fetch->value->dtype == CSE_INT32 ? (double)integer : (double)number;
}

/* Stores the last point before a change: the end of the constant part. */
static void end_level(cse_series *series, const curve *c, int64_t time_ms)
{
    if (c->last_step > c->stored_step)
        cse_store_points(series->store, &(cse_step_points){ .step = c->last_step,
                                                            .time_ms = time_ms,
                                                            .count = 1,
                                                            .series = &c->series,
                                                            .values = &c->last });
}

/* Advances the curve to the step; true when its new point must be stored. */
static bool advance(cse_series *series, curve *c, double value, int64_t step, int64_t time_ms)
{
    /* Each value that is not finite is stored: how many there were is what one asks. */
    bool level = isfinite(value) && memcmp(&value, &c->last, sizeof value) == 0;
    bool due = step % LEVEL_STEPS == 0 || step == series->last_step || c->stored_step < 0;
    if (!level)
        end_level(series, c, time_ms);
    c->last = value;
    c->last_step = step;
    if (level && !due)
        return false;
    c->stored_step = step;
    return true;
}

/* Samples per second since the last rate; false within RATE_INTERVAL_NS of it. */
static bool measure_rate(cse_series *series, int64_t step, int64_t committed_ns, double *rate)
{
    const int64_t since_ns = committed_ns - series->rate_ns;
    const bool first = series->rate_ns == 0, last = step == series->last_step && since_ns > 0;
    if (!first && since_ns < RATE_INTERVAL_NS && !last)
        return false;
    if (!first)
        *rate = (double)(step - series->rate_step) * (double)series->batch_size * 1e9 /
                (double)since_ns;
    series->rate_ns = committed_ns;
    series->rate_step = step;
    return !first;
}

void cse_series_add(cse_series *series, const cse_record *record, int64_t time_ms)
{
    int numbers[CSE_MOST_SERIES + 1], count = 0;
    double values[CSE_MOST_SERIES + 1];
    assert(series->step != NULL);
    if (!series->step->training)
        return;
    const cse_fetch_entry *fetches = series->step->graph->fetches;
    const int64_t step = record->step + 1;
    for (int i = 0; i < series->count; i++) {
        curve *c = &series->curves[i];
        double value =
            c->fetch < 0 ? c->last : cse_fetched_number(&fetches[c->fetch], record->fetched);
        if (!advance(series, c, value, step, time_ms))
            continue;
        numbers[count] = c->series;
        values[count++] = value;
    }
    if (measure_rate(series, step, record->committed_ns, &values[count]))
        numbers[count++] = series->rate_series;
    cse_store_points(series->store, &(cse_step_points){ .step = step,
                                                        .time_ms = time_ms,
                                                        .count = count,
                                                        .series = numbers,
                                                        .values = values });
}
