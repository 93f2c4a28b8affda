/* There are no buckets of them: they are few beside a run's points, and are put together as they
 * are read. */
#include "store/replaced.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "store/database.h"

enum { DEFAULT_POINTS = 1000 };

typedef struct reading {
    sqlite3 *handle;
    const cse_metrics_query *query;
    cse_curve_take *take;
    void *self;
} reading;

static bool is_wanted(const cse_metrics_query *query, const char *name)
{
    for (int i = 0; query->names != NULL && query->names[i] != NULL; i++)
        if (strcmp(query->names[i], name) == 0)
            return true;
    return query->names == NULL;
}

static void merge(cse_curve_row *sum, sqlite3_stmt *point)
{
    const bool is_null = sqlite3_column_type(point, 2) == SQLITE_NULL;
    const double value = is_null ? (double)NAN : sqlite3_column_double(point, 2);
    const bool finite = isfinite(value);
    if (sum->count++ == 0)
        sum->first_step = sqlite3_column_int64(point, 0);
    sum->last_step = sqlite3_column_int64(point, 0);
    sum->time_ms = sqlite3_column_int64(point, 1);
    sum->last = value;
    sum->finite += finite;
    sum->sum += finite ? value : 0;
    sum->minimum = fmin(sum->minimum, finite ? value : (double)NAN);
    sum->maximum = fmax(sum->maximum, finite ? value : (double)NAN);
}

static int level_of(int64_t points)
{
    int level = 0;
    for (int64_t size = 1; size < points; size *= 8)
        level++;
    return level;
}

/* Rows of the statement: step, time_ms, value, and how many there are. */
static int take_curve(const reading *r, sqlite3_stmt *statement, cse_curve *about)
{
    static const cse_curve_row none = { .minimum = (double)NAN, .maximum = (double)NAN };
    const int64_t most = r->query->max_points > 0 ? r->query->max_points : DEFAULT_POINTS;
    cse_curve_row sum = none;
    bool began = false;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!began) {
            about->bucket_points = (sqlite3_column_int64(statement, 3) + most - 1) / most;
            about->level = level_of(about->bucket_points);
            r->take(r->self, about, NULL);
            began = true;
        }
        merge(&sum, statement);
        if (sum.count < about->bucket_points)
            continue;
        r->take(r->self, about, &sum);
        sum = none;
    }
    if (sum.count > 0)
        r->take(r->self, about, &sum);
    return code;
}

static int take_attempt(const reading *r, int64_t series, const char *name, int64_t attempt)
{
    static const char sql[] =
        "SELECT step, time_ms, value, count(*) OVER () FROM superseded WHERE series = ?1 AND "
        "attempt = ?2 AND step >= ?3 AND step <= ?4 ORDER BY step";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(r->handle, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, series);
    sqlite3_bind_int64(statement, 2, attempt);
    sqlite3_bind_int64(statement, 3, r->query->first_step);
    sqlite3_bind_int64(statement, 4, r->query->last_step > 0 ? r->query->last_step : INT64_MAX);
    cse_curve about = { .name = name, .attempt = attempt };
    code = take_curve(r, statement, &about);
    sqlite3_finalize(statement);
    return code;
}

static const char next_replaced[] =
    "SELECT attempt FROM superseded WHERE series = ?1 AND attempt > ?2 ORDER BY attempt LIMIT 1";

cse_status cse_store_reader_replaced(cse_store_reader *reader, const cse_metrics_query *query,
                                     cse_curve_take *take, void *self)
{
    const reading r = { cse_store_reader_handle(reader), query, take, self };
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_DONE;
    if (sqlite3_prepare_v2(r.handle,
                           "SELECT DISTINCT series, name FROM superseded JOIN series ON "
                           "series.id = superseded.series ORDER BY series",
                           -1, &statement, NULL) != SQLITE_OK)
        return CSE_OK;
    while (code == SQLITE_DONE && sqlite3_step(statement) == SQLITE_ROW) {
        const int64_t series = sqlite3_column_int64(statement, 0);
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        int64_t attempt = 0;
        while (name != NULL && is_wanted(query, name) && code == SQLITE_DONE &&
               (attempt = cse_sql_integer_of(r.handle, next_replaced, series, attempt)) > 0)
            if (query->attempt == 0 || query->attempt == attempt)
                code = take_attempt(&r, series, name, attempt);
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? CSE_OK : cse_store_reader_fail(reader);
}

/* ---- attempts ---- */

static int64_t step_of(sqlite3 *handle, const char *table, const char *which, const int64_t of[2])
{
    char sql[128];
    sqlite3_snprintf((int)sizeof sql, sql,
                     "SELECT %s(step) FROM %s WHERE series = ?1 AND attempt = ?2", which, table);
    return cse_sql_integer_of(handle, sql, of[0], of[1]);
}

cse_status cse_store_reader_attempts(cse_store_reader *reader,
                                     void (*take)(void *self, const cse_attempt_steps *attempt),
                                     void *self)
{
    static const char next[] =
        "SELECT attempt FROM points WHERE series = ?1 AND attempt > ?2 ORDER BY attempt LIMIT 1";
    sqlite3 *handle = cse_store_reader_handle(reader);
    const int64_t loss =
        cse_sql_integer_of(handle, "SELECT id FROM series WHERE name = 'loss'", 0, 0);
    int64_t attempt = 0;
    for (;;) {
        const int64_t own = cse_sql_integer_of(handle, next, loss, attempt);
        const int64_t other = cse_sql_integer_of(handle, next_replaced, loss, attempt);
        attempt = own == 0 || (other > 0 && other < own) ? other : own;
        if (loss == 0 || attempt == 0)
            return CSE_OK;
        const int64_t of[2] = { loss, attempt };
        take(self, &(cse_attempt_steps){
                       .attempt = attempt,
                       .first = step_of(handle, "points", "min", of),
                       .last = step_of(handle, "points", "max", of),
                       .replaced_first = step_of(handle, "superseded", "min", of),
                       .replaced_last = step_of(handle, "superseded", "max", of),
                   });
    }
}
