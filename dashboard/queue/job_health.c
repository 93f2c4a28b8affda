/* Rules read buckets, not all points: the cost does not grow with the length of a run. */
#include "dashboard/queue/job_health.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"

enum {
    LOSS_ROWS = 64,       /* of the newest attempt */
    LEAST_ROWS = 16,      /* fewer say nothing of a plateau */
    LEAST_STEPS = 100,    /* likewise */
    RECENT_STEPS = 100,   /* in which skipped steps are counted */
    RECENT_SKIPPED = 5,   /* of them in a hundred */
    LEAST_TAKEN_MS = 2000 /* of steps, before waits for input are a share of it */
};
const char *const cse_health_kinds[] = { "diverged", "plateau",  "overflowed",
                                         "skipping", "starving", NULL };

static const double rise = 4;             /* of the range that the loss had fallen through */
static const double starved = 0.3;        /* of the time of the steps */
static const double level = 0.02;         /* of the loss's range */
static const double level_of_loss = 1e-3; /* of the loss itself */

CSE_PRINTF(4, 5)
static void add(json_t *found, const char *kind, int64_t step, const char *format, ...)
{
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    json_array_append_new(found, json_pack("{s:s, s:o, s:s}", "kind", kind, "step",
                                           step > 0 ? json_integer(step) : json_null(), "message",
                                           message));
}

/* ---- the loss ---- */

typedef struct losses {
    int64_t attempt;
    int count;
    cse_curve_row rows[2 * LOSS_ROWS]; /* of the newest attempt */
    double least;                      /* of all attempts */
    double first;                      /* mean of the first row that has one */
} losses;

static double mean_of(const cse_curve_row *row)
{
    return row->finite > 0 ? row->sum / (double)row->finite : (double)NAN;
}

static void take_loss(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    losses *l = self;
    if (row == NULL) {
        if (curve->attempt > l->attempt)
            l->count = 0;
        l->attempt = curve->attempt;
        return;
    }
    if (row->finite > 0 && !(l->least <= row->minimum))
        l->least = row->minimum;
    if (row->finite > 0 && isnan(l->first))
        l->first = mean_of(row);
    if (l->count < (int)(sizeof l->rows / sizeof l->rows[0]))
        l->rows[l->count++] = *row;
}

/* The mean over the rows, by points. */
static double mean_over(const losses *l, int from, int to)
{
    double sum = 0;
    int64_t count = 0;
    for (int i = from; i < to; i++)
        if (l->rows[i].finite > 0) {
            sum += l->rows[i].sum;
            count += l->rows[i].finite;
        }
    return count > 0 ? sum / (double)count : (double)NAN;
}

/* The first row from which on the loss stays above `limit`, or has a value that is not finite. */
static int64_t since(const losses *l, double limit)
{
    int at = l->count;
    while (at > 0) {
        const cse_curve_row *row = &l->rows[at - 1];
        if (row->finite == row->count && !(row->maximum > limit))
            break;
        at--;
    }
    return at < l->count ? l->rows[at].first_step : l->rows[l->count - 1].first_step;
}

static bool find_divergence(const losses *l, json_t *found)
{
    const cse_curve_row *newest = &l->rows[l->count - 1];
    const double range = fmax(fmax(l->first - l->least, 0.1 * fabs(l->first)), 1e-6);
    const double limit = l->least + rise * range;
    if (!isfinite(newest->last)) {
        add(found, "diverged", since(l, INFINITY), "the loss is not finite at step %lld",
            (long long)newest->last_step);
        return true;
    }
    const double now = mean_of(newest);
    if (!(now > limit) || !(now > l->first))
        return false;
    add(found, "diverged", since(l, limit),
        "the loss is %.4g, it began at %.4g, its least was %.4g", newest->last, l->first, l->least);
    return true;
}

static void find_plateau(const losses *l, json_t *found)
{
    const int half = l->count / 2, quarter = l->count - l->count / 4;
    const int64_t steps = l->rows[l->count - 1].last_step - l->rows[0].first_step + 1;
    if (l->count < LEAST_ROWS || steps < LEAST_STEPS)
        return;
    const double before = mean_over(l, half, quarter), after = mean_over(l, quarter, l->count);
    const double change = fabs(before - after);
    if (change <= level * fabs(l->first - l->least) || change <= level_of_loss * fabs(after))
        add(found, "plateau", l->rows[half].first_step, "the loss stays at %.4g since step %lld",
            after, (long long)l->rows[half].first_step);
}

static void look_at_loss(cse_store_reader *reader, json_t *found)
{
    static const char *const names[] = { "loss", NULL };
    const cse_metrics_query query = { .names = names, .max_points = LOSS_ROWS };
    losses *l = calloc(1, sizeof *l);
    if (l == NULL)
        return;
    l->least = l->first = (double)NAN;
    if (cse_store_reader_metrics(reader, &query, take_loss, l) == CSE_OK && l->count > 0 &&
        !find_divergence(l, found))
        find_plateau(l, found);
    free(l);
}

/* ---- numbers ---- */

typedef struct overflow {
    int64_t step, tensors;
} overflow;

static void take_overflow(void *self, const cse_row *row)
{
    overflow *o = self;
    if (o->tensors == 0)
        o->step = row->fields[2].integer;
    o->tensors += row->fields[2].integer == o->step;
}

static void look_at_numbers(cse_store_reader *reader, json_t *found)
{
    overflow o = { .step = 0 };
    const cse_store_query query = { .limit = 100, .bad = true };
    if (cse_store_reader_rows(reader, CSE_ROW_NUMERICS, &query, take_overflow, &o) == CSE_OK &&
        o.tensors > 0)
        add(found, "overflowed", o.step,
            "NaN, infinite or saturated values, first at step %lld, in %s%lld tensor%s",
            (long long)o.step, o.tensors == query.limit ? "at least " : "", (long long)o.tensors,
            o.tensors == 1 ? "" : "s");
}

/* Values of the counter of skipped steps: of the newest point, and at a step. */
static double counted(cse_store_reader *reader, int64_t before_step, cse_point *point)
{
    const cse_end_points wanted = { .points = point, .most = 1, .newest = true };
    return cse_store_reader_end_points(reader, "skipped_steps", before_step, &wanted) == 1
               ? point->value
               : 0;
}

static void look_at_skips(cse_store_reader *reader, json_t *found)
{
    cse_point last, before;
    if (!cse_store_reader_last_point(reader, "skipped_steps", &last) || !(last.value > 0))
        return;
    const int64_t steps = last.step < RECENT_STEPS ? last.step : RECENT_STEPS;
    const double skipped = last.value - counted(reader, last.step - steps + 1, &before);
    if (skipped * 100 > (double)(RECENT_SKIPPED * steps))
        add(found, "skipping", last.step,
            "%.0f of the last %lld steps were skipped: their gradients were not finite", skipped,
            (long long)steps);
}

/* ---- time ---- */

static void take_account(void *self, const cse_row *row)
{
    cse_goodput_row *account = self;
    /* As the columns of the table. */
    account->compute_ms = row->fields[4].integer;
    account->input_ms = row->fields[5].integer;
    account->update_ms = row->fields[6].integer;
    account->communication_ms = row->fields[7].integer;
}

static void look_at_time(cse_store_reader *reader, json_t *found)
{
    cse_goodput_row a = { .compute_ms = 0 };
    const cse_store_query query = { .limit = 1, .newest_first = true };
    if (cse_store_reader_rows(reader, CSE_ROW_GOODPUT, &query, take_account, &a) != CSE_OK)
        return;
    const int64_t taken_ms = a.compute_ms + a.input_ms + a.update_ms + a.communication_ms;
    if (taken_ms >= LEAST_TAKEN_MS && (double)a.input_ms > starved * (double)taken_ms)
        add(found, "starving", 0,
            "replicas waited for input for %.0f %% of the time in which steps were taken",
            100 * (double)a.input_ms / (double)taken_ms);
}

json_t *cse_job_health(cse_store_reader *reader)
{
    json_t *found = json_array();
    if (reader == NULL)
        return found;
    look_at_loss(reader, found);
    look_at_numbers(reader, found);
    look_at_skips(reader, found);
    look_at_time(reader, found);
    return found;
}
