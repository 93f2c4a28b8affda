/* Queries of curves at a requested resolution.
 *
 * The level is searched from the top: in a range, a level has at most 8 times the buckets of the
 * one above, and bucket b covers buckets 8b to 8b + 7 of the level below, so each query reads a
 * bounded number of rows, whatever the length of the run. The coarsest level with more rows than
 * are wanted is read, and every n rows in order, n from 2 to 8, become one: so that more than half
 * of the wanted rows remain. */
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "store/buckets.h"
#include "store/reader.h"

enum { DEFAULT_POINTS = 1000 };

/* One series in one attempt, and the buckets to search. */
typedef struct curve {
    cse_store_reader *reader;
    int64_t series, attempt, first_step, last_step, max_points;
    int64_t first_bucket, last_bucket; /* of `level` */
    int64_t merged;                    /* rows of `level` that become one */
    int level;                         /* 0: points */
} curve;

/* The query and its callback. */
typedef struct taker {
    cse_store_reader *reader;
    const cse_metrics_query *query;
    cse_curve_take *take;
    void *self;
} taker;

static sqlite3_stmt *prepare(const curve *c, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(cse_store_reader_handle(c->reader), sql, -1, &statement, NULL) !=
        SQLITE_OK)
        return NULL;
    sqlite3_bind_int64(statement, 1, c->series);
    sqlite3_bind_int64(statement, 2, c->attempt);
    sqlite3_bind_int64(statement, 3, c->first_step);
    sqlite3_bind_int64(statement, 4, c->last_step);
    return statement;
}

static sqlite3_stmt *prepare_level(const curve *c, const char *sql)
{
    sqlite3_stmt *statement = prepare(c, sql);
    if (statement == NULL)
        return NULL;
    sqlite3_bind_int64(statement, 5, c->level);
    sqlite3_bind_int64(statement, 6, c->first_bucket);
    sqlite3_bind_int64(statement, 7, c->last_bucket);
    return statement;
}

#define IN_LEVEL                                                                       \
    "FROM buckets WHERE series = ?1 AND attempt = ?2 AND level = ?5 AND bucket >= ?6 " \
    "AND bucket <= ?7 AND last_step >= ?3 AND first_step <= ?4"

/* Narrows first_bucket and last_bucket to the level's buckets in the range; returns the count. */
static int64_t narrow(curve *c)
{
    int64_t count = 0;
    sqlite3_stmt *statement =
        prepare_level(c, "SELECT count(*), min(bucket), max(bucket) " IN_LEVEL);
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        count = sqlite3_column_int64(statement, 0);
        c->first_bucket = sqlite3_column_int64(statement, 1);
        c->last_bucket = sqlite3_column_int64(statement, 2);
    }
    sqlite3_finalize(statement);
    return count;
}

/* At most `most`. */
static int64_t count_points(const curve *c, int64_t most)
{
    sqlite3_stmt *statement =
        prepare(c, "SELECT count(*) FROM (SELECT 1 FROM points WHERE series = ?1 AND attempt = ?2 "
                   "AND step >= ?3 AND step <= ?4 LIMIT ?5)");
    int64_t count = 0;
    if (statement != NULL) {
        sqlite3_bind_int64(statement, 5, most);
        if (sqlite3_step(statement) == SQLITE_ROW)
            count = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return count;
}

/* Sets the level to read, its buckets in the range, and how many rows become one. */
static void choose_level(curve *c)
{
    c->level = 0;
    c->merged = 1;
    if (count_points(c, c->max_points + 1) <= c->max_points)
        return;
    c->first_bucket = 0;
    c->last_bucket = INT64_MAX;
    int64_t count = 0;
    for (c->level = CSE_BUCKET_LEVELS; c->level > 0; c->level--) {
        count = narrow(c);
        if (count > c->max_points)
            break;
        c->first_bucket = count > 0 ? c->first_bucket * CSE_BUCKET_POINTS : 0;
        c->last_bucket =
            count > 0 ? c->last_bucket * CSE_BUCKET_POINTS + CSE_BUCKET_POINTS - 1 : INT64_MAX;
    }
    if (c->level == 0)
        count = count_points(c, INT64_MAX);
    c->merged = (count + c->max_points - 1) / c->max_points;
}

static double real_at(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(statement, column);
}

static cse_curve_row bucket_at(sqlite3_stmt *statement)
{
    return (cse_curve_row){ .first_step = sqlite3_column_int64(statement, 0),
                            .last_step = sqlite3_column_int64(statement, 1),
                            .time_ms = sqlite3_column_int64(statement, 2),
                            .last = real_at(statement, 3),
                            .count = sqlite3_column_int64(statement, 4),
                            .finite = sqlite3_column_int64(statement, 5),
                            .minimum = real_at(statement, 6),
                            .maximum = real_at(statement, 7),
                            .sum = sqlite3_column_double(statement, 8) };
}

static cse_curve_row point_at(sqlite3_stmt *statement)
{
    const double value = real_at(statement, 2);
    const bool finite = isfinite(value);
    return (cse_curve_row){ .first_step = sqlite3_column_int64(statement, 0),
                            .last_step = sqlite3_column_int64(statement, 0),
                            .time_ms = sqlite3_column_int64(statement, 1),
                            .last = value,
                            .count = 1,
                            .finite = finite,
                            .minimum = finite ? value : (double)NAN,
                            .maximum = finite ? value : (double)NAN,
                            .sum = finite ? value : 0 };
}

/* The next row becomes part of `sum`. */
static void merge(cse_curve_row *sum, const cse_curve_row *next)
{
    sum->last_step = next->last_step > sum->last_step ? next->last_step : sum->last_step;
    sum->time_ms = next->time_ms;
    sum->last = next->last;
    sum->count += next->count;
    sum->finite += next->finite;
    sum->minimum = fmin(sum->minimum, next->minimum); /* of NaN and a number the number */
    sum->maximum = fmax(sum->maximum, next->maximum);
    sum->sum += next->sum;
}

static sqlite3_stmt *prepare_rows(const curve *c)
{
    if (c->level == 0)
        return prepare(c, "SELECT step, time_ms, value FROM points WHERE series = ?1 AND "
                          "attempt = ?2 AND step >= ?3 AND step <= ?4 ORDER BY step");
    sqlite3_stmt *statement = prepare_level(
        c, "SELECT first_step, last_step, time_ms, last, count, "
           "ifnull(finite, count), minimum, maximum, sum " IN_LEVEL " ORDER BY bucket");
    /* Stores of version 2 and before did not count them. */
    return statement != NULL
               ? statement
               : prepare_level(c, "SELECT first_step, last_step, time_ms, last, count, count, "
                                  "minimum, maximum, sum " IN_LEVEL " ORDER BY bucket");
}

static cse_status take_curve(curve *c, const char *name, const taker *to)
{
    choose_level(c);
    sqlite3_stmt *statement = prepare_rows(c);
    cse_curve about = { .name = name, .attempt = c->attempt, .bucket_points = c->merged };
    for (int level = 0; level < c->level; level++)
        about.bucket_points *= CSE_BUCKET_POINTS;
    about.level = about.bucket_points > 1 ? c->level + (c->merged > 1) : 0;
    to->take(to->self, &about, NULL);
    cse_curve_row sum = { .count = 0 };
    int64_t rows = 0;
    int code = statement != NULL ? SQLITE_ROW : SQLITE_ERROR;
    while (code == SQLITE_ROW && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const cse_curve_row row = c->level == 0 ? point_at(statement) : bucket_at(statement);
        if (rows % c->merged == 0 && rows > 0)
            to->take(to->self, &about, &sum);
        if (rows++ % c->merged == 0)
            sum = row;
        else
            merge(&sum, &row);
    }
    if (rows > 0)
        to->take(to->self, &about, &sum);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? CSE_OK : cse_store_reader_fail(c->reader);
}

/* The attempt after `before` that has points of a series, by a seek; 0 when there is none. */
static cse_status next_attempt(cse_store_reader *reader, int64_t series, int64_t before,
                               int64_t *attempt)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(cse_store_reader_handle(reader),
                           "SELECT attempt FROM points WHERE series = ?1 AND attempt > ?2 "
                           "ORDER BY attempt LIMIT 1",
                           -1, &statement, NULL) != SQLITE_OK)
        return cse_store_reader_fail(reader);
    sqlite3_bind_int64(statement, 1, series);
    sqlite3_bind_int64(statement, 2, before);
    *attempt = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return CSE_OK;
}

static cse_status take_series(const taker *to, int64_t series, const char *name)
{
    const cse_metrics_query *query = to->query;
    int64_t attempt = 0;
    for (;;) {
        CSE_TRY(next_attempt(to->reader, series, attempt, &attempt));
        if (attempt == 0)
            return CSE_OK;
        if (query->attempt != 0 && query->attempt != attempt)
            continue;
        curve c = { .reader = to->reader,
                    .series = series,
                    .attempt = attempt,
                    .first_step = query->first_step,
                    .last_step = query->last_step > 0 ? query->last_step : INT64_MAX,
                    .max_points = query->max_points > 0 ? query->max_points : DEFAULT_POINTS };
        CSE_TRY(take_curve(&c, name, to));
    }
}

static bool is_wanted(const cse_metrics_query *query, const char *name)
{
    for (int i = 0; query->names != NULL && query->names[i] != NULL; i++)
        if (strcmp(query->names[i], name) == 0)
            return true;
    return query->names == NULL;
}

cse_status cse_store_reader_metrics(cse_store_reader *reader, const cse_metrics_query *query,
                                    cse_curve_take *take, void *self)
{
    const taker to = { .reader = reader, .query = query, .take = take, .self = self };
    sqlite3 *handle = cse_store_reader_handle(reader);
    sqlite3_stmt *statement = NULL;
    cse_status status = CSE_OK;
    /* One read transaction: a consistent view while the run writes. */
    sqlite3_exec(handle, "BEGIN", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(handle, "SELECT id, name FROM series ORDER BY id", -1, &statement,
                           NULL) != SQLITE_OK)
        status = cse_store_reader_fail(reader);
    while (status == CSE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        if (name != NULL && is_wanted(query, name))
            status = take_series(&to, sqlite3_column_int64(statement, 0), name);
    }
    sqlite3_finalize(statement);
    sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    return status;
}

bool cse_store_reader_point_before(cse_store_reader *reader, int series, int64_t step,
                                   cse_point *point)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    /* Attempts follow each other by steps, so that the newest one with such a point has it. */
    if (sqlite3_prepare_v2(cse_store_reader_handle(reader),
                           "SELECT step, time_ms, value FROM points WHERE series = ?1 AND step < "
                           "?2 ORDER BY attempt DESC, step DESC LIMIT 1",
                           -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int(statement, 1, series);
        sqlite3_bind_int64(statement, 2, step);
        found = sqlite3_step(statement) == SQLITE_ROW;
    }
    if (found)
        *point = (cse_point){ .series = series,
                              .step = sqlite3_column_int64(statement, 0),
                              .time_ms = sqlite3_column_int64(statement, 1),
                              .value = real_at(statement, 2) };
    sqlite3_finalize(statement);
    return found;
}

int cse_store_reader_end_points(cse_store_reader *reader, const char *series, int64_t step,
                                const cse_end_points *wanted)
{
    static const char *const orders[] = {
        "SELECT step, time_ms, value FROM points WHERE series = (SELECT id FROM series WHERE name "
        "= "
        "?1) AND step < ?2 ORDER BY attempt, step LIMIT ?3",
        "SELECT step, time_ms, value FROM points WHERE series = (SELECT id FROM series WHERE name "
        "= "
        "?1) AND step < ?2 ORDER BY attempt DESC, step DESC LIMIT ?3",
    };
    sqlite3_stmt *statement = NULL;
    int count = 0;
    if (sqlite3_prepare_v2(cse_store_reader_handle(reader), orders[wanted->newest], -1, &statement,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, series, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, step);
        sqlite3_bind_int(statement, 3, wanted->most);
        while (count < wanted->most && sqlite3_step(statement) == SQLITE_ROW)
            wanted->points[count++] = (cse_point){ .step = sqlite3_column_int64(statement, 0),
                                                   .time_ms = sqlite3_column_int64(statement, 1),
                                                   .value = real_at(statement, 2) };
    }
    sqlite3_finalize(statement);
    return count;
}

bool cse_store_reader_last_point(cse_store_reader *reader, const char *series, cse_point *point)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(cse_store_reader_handle(reader),
                           "SELECT series, step, time_ms, value FROM points WHERE series = "
                           "(SELECT id FROM series WHERE name = ?) ORDER BY attempt DESC, "
                           "step DESC LIMIT 1",
                           -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, series, -1, SQLITE_STATIC);
        found = sqlite3_step(statement) == SQLITE_ROW;
    }
    if (found)
        *point = (cse_point){ .series = sqlite3_column_int(statement, 0),
                              .step = sqlite3_column_int64(statement, 1),
                              .time_ms = sqlite3_column_int64(statement, 2),
                              .value = real_at(statement, 3) };
    sqlite3_finalize(statement);
    return found;
}
