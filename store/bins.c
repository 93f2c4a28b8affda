/* Buckets are a tree: one that lies in a single range is taken whole, any other is opened, down to
 * its points. So the cost is that of the ranges, not of the run's length, and no point is put into
 * a range by a guess. */
#include "store/bins.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "store/buckets.h"
#include "store/database.h"

enum { OUTSIDE = -1 };

/* One series in one attempt, and the statements that read it. */
typedef struct walk {
    sqlite3 *handle;
    sqlite3_stmt *points; /* from a step to a step */
    sqlite3_stmt
        *levels[CSE_BUCKET_LEVELS + 1]; /* from a bucket to a bucket; prepared when needed */
    int64_t series, attempt;
    const cse_bin_range *range;
    cse_bin *bins;
} walk;

/* The range of a step; OUTSIDE: of none. Steps before all and behind all are of different ones. */
static int64_t range_of(const cse_bin_range *range, int64_t step)
{
    if (step < range->first)
        return OUTSIDE;
    const int64_t at = (step - range->first) / range->width;
    return at < range->count ? at : range->count;
}

static void add(cse_bin *bin, const cse_bin *more)
{
    if (bin->finite + bin->not_finite == 0 || more->first_step < bin->first_step)
        bin->first_step = more->first_step;
    if (more->last_step > bin->last_step)
        bin->last_step = more->last_step;
    bin->finite += more->finite;
    bin->not_finite += more->not_finite;
    bin->sum += more->sum;
}

static bool is_in(const walk *w, int64_t at)
{
    return at != OUTSIDE && at < w->range->count;
}

static int take_points(walk *w, int64_t first, int64_t last)
{
    int code = SQLITE_ROW;
    sqlite3_bind_int64(w->points, 1, w->series);
    sqlite3_bind_int64(w->points, 2, w->attempt);
    sqlite3_bind_int64(w->points, 3, first);
    sqlite3_bind_int64(w->points, 4, last);
    while ((code = sqlite3_step(w->points)) == SQLITE_ROW) {
        const int64_t step = sqlite3_column_int64(w->points, 0);
        const double value = sqlite3_column_double(w->points, 1);
        const bool finite = sqlite3_column_type(w->points, 1) != SQLITE_NULL && isfinite(value);
        const int64_t at = range_of(w->range, step);
        const cse_bin point = { .finite = finite,
                                .not_finite = !finite,
                                .first_step = step,
                                .last_step = step,
                                .sum = finite ? value : 0 };
        if (is_in(w, at))
            add(&w->bins[at], &point);
    }
    sqlite3_reset(w->points);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static const char of_level[] =
    "SELECT first_step, last_step, count, ifnull(finite, count), sum, bucket FROM buckets WHERE "
    "series = ?1 AND attempt = ?2 AND level = ?3 AND bucket >= ?4 AND bucket <= ?5 ORDER BY bucket";

static int take_level(walk *w, int level, int64_t first, int64_t last);

/* The bucket of the row that a statement stands at. */
static int take_bucket(walk *w, sqlite3_stmt *row, int level)
{
    const int64_t count = sqlite3_column_int64(row, 2);
    const cse_bin bucket = { .first_step = sqlite3_column_int64(row, 0),
                             .last_step = sqlite3_column_int64(row, 1),
                             .finite = sqlite3_column_int64(row, 3),
                             .not_finite = count - sqlite3_column_int64(row, 3),
                             .sum = sqlite3_column_double(row, 4) };
    const int64_t number = sqlite3_column_int64(row, 5);
    const int64_t at = range_of(w->range, bucket.first_step);
    if (at != range_of(w->range, bucket.last_step))
        return level > 1 ? take_level(w, level - 1, number * CSE_BUCKET_POINTS,
                                      number * CSE_BUCKET_POINTS + CSE_BUCKET_POINTS - 1)
                         : take_points(w, bucket.first_step, bucket.last_step);
    if (is_in(w, at))
        add(&w->bins[at], &bucket);
    return SQLITE_OK;
}

/* The buckets of a level are read while those below are: a statement for each level. */
static int take_level(walk *w, int level, int64_t first, int64_t last)
{
    sqlite3_stmt **statement = &w->levels[level];
    int code = SQLITE_OK;
    if (*statement == NULL)
        code = sqlite3_prepare_v2(w->handle, of_level, -1, statement, NULL);
    if (code != SQLITE_OK)
        return code;
    const int64_t numbers[] = { w->series, w->attempt, level, first, last };
    for (int i = 0; i < (int)(sizeof numbers / sizeof numbers[0]); i++)
        sqlite3_bind_int64(*statement, i + 1, numbers[i]);
    while (code == SQLITE_OK && sqlite3_step(*statement) == SQLITE_ROW)
        code = take_bucket(w, *statement, level);
    const int end = sqlite3_reset(*statement);
    return code == SQLITE_OK ? end : code;
}

/* Of one attempt: from its coarsest level; without buckets from its points. */
static int take_attempt(walk *w)
{
    static const char top[] = "SELECT max(level) FROM buckets WHERE series = ?1 AND attempt = ?2";
    const int64_t level = cse_sql_integer_of(w->handle, top, w->series, w->attempt);
    return level > 0 && level <= CSE_BUCKET_LEVELS ? take_level(w, (int)level, 0, INT64_MAX)
                                                   : take_points(w, 0, INT64_MAX);
}

static const char of_points[] = "SELECT step, value FROM points WHERE series = ?1 AND attempt = ?2 "
                                "AND step >= ?3 AND step <= ?4 ORDER BY step";
static const char next_attempt[] = "SELECT attempt FROM points WHERE series = ?1 AND attempt > ?2 "
                                   "ORDER BY attempt LIMIT 1";

static int64_t series_number(sqlite3 *handle, const char *series)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = 0;
    if (sqlite3_prepare_v2(handle, "SELECT id FROM series WHERE name = ?1", -1, &statement, NULL) ==
        SQLITE_OK) {
        sqlite3_bind_text(statement, 1, series, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW)
            number = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return number;
}

cse_status cse_store_reader_bins(cse_store_reader *reader, const char *series,
                                 const cse_bin_range *range, cse_bin *bins)
{
    sqlite3 *handle = cse_store_reader_handle(reader);
    walk w = { .handle = handle, .range = range, .bins = bins };
    memset(bins, 0, (size_t)range->count * sizeof *bins);
    /* One read transaction: points and buckets are of one moment. */
    sqlite3_exec(handle, "BEGIN", NULL, NULL, NULL);
    w.series = series_number(handle, series);
    int code = sqlite3_prepare_v2(handle, of_points, -1, &w.points, NULL);
    while (code == SQLITE_OK && w.series > 0 &&
           (w.attempt = cse_sql_integer_of(handle, next_attempt, w.series, w.attempt)) > 0)
        code = take_attempt(&w);
    const cse_status status = code == SQLITE_OK ? CSE_OK : cse_store_reader_fail(reader);
    sqlite3_finalize(w.points);
    for (int level = 1; level <= CSE_BUCKET_LEVELS; level++)
        sqlite3_finalize(w.levels[level]);
    sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    return status;
}

int64_t cse_bin_width(int64_t first, int64_t last, int64_t most)
{
    const int64_t steps = last >= first ? last - first + 1 : 1;
    const int64_t least = (steps + most - 1) / most;
    int64_t unit = 1;
    while (least > unit * (CSE_BUCKET_POINTS - 1))
        unit *= CSE_BUCKET_POINTS;
    return (least + unit - 1) / unit * unit;
}
