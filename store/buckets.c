/* Each point is added to the open bucket of every level; see buckets.h. */
#include "store/buckets.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"

typedef struct bucket {
    int64_t first_step, last_step, time_ms, count, finite;
    double minimum, maximum, sum, last;
} bucket;

typedef struct series_buckets {
    int64_t count; /* points so far */
    bool changed;
    bucket open[CSE_BUCKET_LEVELS]; /* of levels 1, 2, ... */
} series_buckets;

struct cse_buckets {
    int64_t attempt;
    series_buckets **series; /* by number; NULL: no point yet */
    int count;
};

cse_buckets *cse_buckets_new(int64_t attempt)
{
    cse_buckets *buckets = cse_calloc(1, sizeof *buckets);
    buckets->attempt = attempt;
    return buckets;
}

void cse_buckets_destroy(cse_buckets **buckets)
{
    if (*buckets == NULL)
        return;
    for (int i = 0; i < (*buckets)->count; i++)
        free((*buckets)->series[i]);
    free((*buckets)->series);
    free(*buckets);
    *buckets = NULL;
}

static series_buckets *find_series(cse_buckets *buckets, int series)
{
    while (series >= buckets->count) {
        int count = buckets->count > 0 ? 2 * buckets->count : 16;
        buckets->series = cse_realloc(buckets->series, (size_t)count * sizeof *buckets->series);
        for (int i = buckets->count; i < count; i++)
            buckets->series[i] = NULL;
        buckets->count = count;
    }
    if (buckets->series[series] == NULL)
        buckets->series[series] = cse_calloc(1, sizeof(series_buckets));
    return buckets->series[series];
}

static void take_in(bucket *b, const cse_point *point)
{
    if (b->count == 0)
        *b = (bucket){ .first_step = point->step,
                       .last_step = point->step,
                       .minimum = (double)NAN,
                       .maximum = (double)NAN };
    b->count++;
    b->first_step = point->step < b->first_step ? point->step : b->first_step;
    b->last_step = point->step > b->last_step ? point->step : b->last_step;
    b->last = point->value;
    b->time_ms = point->time_ms;
    if (!isfinite(point->value))
        return;
    b->finite++;
    b->minimum = fmin(b->minimum, point->value); /* of NaN and a number the number */
    b->maximum = fmax(b->maximum, point->value);
    b->sum += point->value;
}

static void write_bucket(const cse_buckets *buckets, int series, int level, int64_t number,
                         cse_text *rows)
{
    const bucket *b = &buckets->series[series]->open[level - 1];
    cse_row_add(rows, CSE_ROW_BUCKET, (int64_t)series, buckets->attempt, (int64_t)level, number,
                b->first_step, b->last_step, b->count, b->minimum, b->maximum, b->sum, b->last,
                b->time_ms, b->finite);
}

void cse_buckets_add(cse_buckets *buckets, const cse_point *point, cse_text *rows)
{
    series_buckets *s = find_series(buckets, point->series);
    int64_t size = 1;
    s->count++;
    s->changed = true;
    for (int level = 1; level <= CSE_BUCKET_LEVELS; level++) {
        size *= CSE_BUCKET_POINTS;
        take_in(&s->open[level - 1], point);
        if (s->count % size != 0)
            continue;
        write_bucket(buckets, point->series, level, s->count / size - 1, rows);
        s->open[level - 1].count = 0;
    }
}

void cse_buckets_write_open(cse_buckets *buckets, cse_text *rows)
{
    for (int i = 0; i < buckets->count; i++) {
        series_buckets *s = buckets->series[i];
        if (s == NULL || !s->changed)
            continue;
        s->changed = false;
        /* A level is skipped while its first bucket has the same points as that of the level
         * below. */
        int64_t size = CSE_BUCKET_POINTS, below = 1;
        for (int level = 1; level <= CSE_BUCKET_LEVELS && s->count > below; level++) {
            if (s->open[level - 1].count > 0)
                write_bucket(buckets, i, level, s->count / size, rows);
            below = size;
            size *= CSE_BUCKET_POINTS;
        }
    }
}
