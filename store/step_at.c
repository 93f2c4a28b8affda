/* In one attempt times grow with the steps, so that the last point until a time is found by seeks,
 * whatever the length of the run. */
#include "store/step_at.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"

struct cse_step_finder {
    sqlite3_stmt *attempt; /* ?1 series, ?2 attempt: the newest one before it */
    sqlite3_stmt *point;   /* ?1, ?2, ?3 step: the first point of the attempt from it on */
    int64_t series;
};

typedef struct point {
    int64_t step, time_ms;
} point;

/* ---- statements ---- */

/* The same of both tables; those of stores before `superseded` have one. */
static sqlite3_stmt *prepare(sqlite3 *handle, const char *of_table, const char *both)
{
    char sql[512], first[224], second[224];
    sqlite3_stmt *statement = NULL;
    snprintf(first, sizeof first, of_table, "points");
    snprintf(second, sizeof second, of_table, "superseded");
    snprintf(sql, sizeof sql, both, first, second);
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK &&
        sqlite3_prepare_v2(handle, first, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    return statement;
}

/* The loss has a point at each step; a program's run need not have it. */
static int64_t find_series(sqlite3 *handle)
{
    sqlite3_stmt *statement = NULL;
    int64_t series = -1;
    if (sqlite3_prepare_v2(handle,
                           "SELECT ifnull((SELECT id FROM series WHERE name = 'loss'), "
                           "(SELECT series FROM points LIMIT 1))",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        series = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return series;
}

cse_step_finder *cse_step_finder_new(cse_store_reader *reader)
{
    cse_step_finder *finder = cse_calloc(1, sizeof *finder);
    sqlite3 *handle = cse_store_reader_handle(reader);
    finder->series = find_series(handle);
    finder->attempt =
        prepare(handle, "SELECT max(attempt) FROM %s WHERE series = ?1 AND attempt < ?2",
                "SELECT max(ifnull((%s), 0), ifnull((%s), 0))");
    finder->point = prepare(handle,
                            "SELECT step, time_ms FROM %s WHERE series = ?1 AND attempt = ?2 AND "
                            "step >= ?3 ORDER BY step LIMIT 1",
                            "SELECT * FROM (%s) UNION ALL SELECT * FROM (%s) ORDER BY 1 LIMIT 1");
    return finder;
}

void cse_step_finder_destroy(cse_step_finder **finder)
{
    if (*finder == NULL)
        return;
    sqlite3_finalize((*finder)->attempt);
    sqlite3_finalize((*finder)->point);
    free(*finder);
    *finder = NULL;
}

/* ---- seeks ---- */

/* 0: there is none. */
static int64_t attempt_before(const cse_step_finder *f, int64_t attempt)
{
    sqlite3_reset(f->attempt);
    sqlite3_bind_int64(f->attempt, 1, f->series);
    sqlite3_bind_int64(f->attempt, 2, attempt);
    return sqlite3_step(f->attempt) == SQLITE_ROW ? sqlite3_column_int64(f->attempt, 0) : 0;
}

static bool point_from(const cse_step_finder *f, int64_t attempt, int64_t step, point *found)
{
    sqlite3_reset(f->point);
    sqlite3_bind_int64(f->point, 1, f->series);
    sqlite3_bind_int64(f->point, 2, attempt);
    sqlite3_bind_int64(f->point, 3, step);
    if (sqlite3_step(f->point) != SQLITE_ROW)
        return false;
    *found = (point){ sqlite3_column_int64(f->point, 0), sqlite3_column_int64(f->point, 1) };
    return true;
}

/* By doubling from the first point, then by halving. -1: the attempt began later. */
static int64_t last_until(const cse_step_finder *f, int64_t attempt, int64_t time_ms)
{
    point found;
    if (!point_from(f, attempt, 0, &found) || found.time_ms > time_ms)
        return -1;
    int64_t low = found.step, width = 1;
    while (point_from(f, attempt, low + width, &found) && found.time_ms <= time_ms) {
        low = found.step;
        width *= 2;
    }
    while (width > 1) {
        width /= 2;
        if (point_from(f, attempt, low + width, &found) && found.time_ms <= time_ms)
            low = found.step;
    }
    return low;
}

int64_t cse_step_finder_at(cse_step_finder *finder, int64_t time_ms)
{
    int64_t attempt = INT64_MAX, step = -1;
    if (finder->series < 0 || finder->attempt == NULL || finder->point == NULL)
        return -1;
    while (step < 0 && (attempt = attempt_before(finder, attempt)) > 0)
        step = last_until(finder, attempt, time_ms);
    sqlite3_reset(finder->attempt);
    sqlite3_reset(finder->point);
    return step;
}
