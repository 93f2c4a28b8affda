/* Every statement finds its rows by a key, so that the cost is that of the rows which are replaced,
 * not of the run's length. */
#include "store/supersede.h"

#include <sqlite3.h>

#include "store/buckets.h"

enum { MOST_NUMBERS = 6 };

/* Runs a statement with these numbers as its parameters; `first`: the first column of its first
 * row, which stays as it is where there is none. */
static int run(sqlite3 *handle, const char *sql, const int64_t numbers[MOST_NUMBERS],
               int64_t *first)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return code;
    const int count = sqlite3_bind_parameter_count(statement);
    for (int i = 0; i < count && i < MOST_NUMBERS; i++)
        sqlite3_bind_int64(statement, i + 1, numbers[i]);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW && first != NULL)
        *first = sqlite3_column_int64(statement, 0);
    const int end = sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? end : code;
}

/* ---- buckets ---- */

/* Parameters: series, attempt, bucket, level, the last step of the buckets that stay. */
static const char first_level[] =
    "INSERT OR REPLACE INTO buckets SELECT ?1, ?2, ?4, ?3, min(step), max(step), count(*), "
    "min(finite), max(finite), total(finite), (SELECT value FROM points WHERE series = ?1 AND "
    "attempt = ?2 ORDER BY step DESC LIMIT 1), max(time_ms), count(finite) FROM (SELECT step, "
    "time_ms, CASE WHEN abs(value) < 9e999 THEN value END AS finite FROM points WHERE series = ?1 "
    "AND attempt = ?2 AND step > ?5) HAVING count(*) > 0";
static const char next_level[] =
    "INSERT OR REPLACE INTO buckets SELECT ?1, ?2, ?4, ?3, min(first_step), max(last_step), "
    "sum(count), min(minimum), max(maximum), total(sum), (SELECT last FROM buckets WHERE series = "
    "?1 AND attempt = ?2 AND level = ?4 - 1 ORDER BY bucket DESC LIMIT 1), max(time_ms), "
    "sum(ifnull(finite, count)) FROM buckets WHERE series = ?1 AND attempt = ?2 AND level = ?4 - 1 "
    "AND bucket >= ?3 * 8 HAVING count(*) > 0";
_Static_assert(CSE_BUCKET_POINTS == 8, "next_level counts on it");

/* The bucket of a level that the points which stay fill in part. A level is left out while its
 * first bucket would hold the same points as that of the level below (store/buckets.c). */
static int fill_bucket(sqlite3 *handle, int64_t series, int64_t attempt, int64_t level,
                       bool *reached)
{
    int64_t bucket = 0, last_step = -1, below = 0;
    int64_t numbers[MOST_NUMBERS] = { series, attempt, level };
    int code = run(handle,
                   "SELECT max(bucket) + 1 FROM buckets WHERE series = ?1 AND attempt = ?2 AND "
                   "level = ?3",
                   numbers, &bucket);
    if (code == SQLITE_OK && level > 1)
        code = run(handle,
                   "SELECT count(*) FROM (SELECT 1 FROM buckets WHERE series = ?1 AND attempt = ?2 "
                   "AND level = ?3 - 1 LIMIT 2)",
                   numbers, &below);
    *reached = level == 1 || below > 1;
    if (code == SQLITE_OK && level == 1 && bucket > 0)
        code = run(handle,
                   "SELECT max(last_step) FROM buckets WHERE series = ?1 AND attempt = ?2 AND "
                   "level = ?3",
                   numbers, &last_step);
    if (code != SQLITE_OK || !*reached)
        return code;
    return run(handle, level == 1 ? first_level : next_level,
               (const int64_t[MOST_NUMBERS]){ series, attempt, bucket, level, last_step }, NULL);
}

/* Buckets summarise points; those that hold a point which went are made of the ones that stay. */
static int trim_buckets(sqlite3 *handle, int64_t series, int64_t attempt, int64_t step)
{
    bool reached = true;
    int code = SQLITE_OK;
    for (int64_t level = 1; code == SQLITE_OK && level <= CSE_BUCKET_LEVELS; level++) {
        const int64_t numbers[MOST_NUMBERS] = { series, attempt, level, step };
        code = run(handle,
                   "DELETE FROM buckets WHERE series = ?1 AND attempt = ?2 AND level = ?3 AND "
                   "last_step >= ?4",
                   numbers, NULL);
        if (code == SQLITE_OK && reached && sqlite3_changes(handle) > 0)
            code = fill_bucket(handle, series, attempt, level, &reached);
    }
    return code;
}

/* ---- points ---- */

#define OF_A_SERIES " FROM points WHERE series = ?1 AND attempt = ?2 AND step >= ?3"

static int supersede_points(sqlite3 *handle, const cse_supersession *s, int64_t series)
{
    int code = SQLITE_OK;
    for (int64_t attempt = 1; code == SQLITE_OK && attempt < s->attempt; attempt++) {
        const int64_t numbers[MOST_NUMBERS] = { series, attempt, s->step };
        int64_t found = 0;
        code = run(handle, "SELECT 1" OF_A_SERIES " LIMIT 1", numbers, &found);
        if (found == 0)
            continue;
        if (code == SQLITE_OK && s->keeps)
            code = run(handle,
                       "INSERT OR REPLACE INTO superseded SELECT series, attempt, step, time_ms, "
                       "value" OF_A_SERIES,
                       numbers, NULL);
        if (code == SQLITE_OK)
            code = run(handle, "DELETE" OF_A_SERIES, numbers, NULL);
        if (code == SQLITE_OK)
            code = trim_buckets(handle, series, attempt, s->step);
    }
    return code;
}

static int supersede_series(sqlite3 *handle, const cse_supersession *s)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, "SELECT id FROM series", -1, &statement, NULL);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        code = supersede_points(handle, s, sqlite3_column_int64(statement, 0));
    sqlite3_finalize(statement);
    return code;
}

/* ---- other tables ---- */

static int supersede_numerics(sqlite3 *handle, const cse_supersession *s)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, "SELECT id, attempt FROM tensors WHERE attempt < ?1", -1,
                                  &statement, NULL);
    sqlite3_bind_int64(statement, 1, s->attempt);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const int64_t numbers[MOST_NUMBERS] = { sqlite3_column_int64(statement, 0),
                                                sqlite3_column_int64(statement, 1), s->step };
        code = run(handle, "DELETE FROM numerics WHERE tensor = ?1 AND attempt = ?2 AND step >= ?3",
                   numbers, NULL);
    }
    sqlite3_finalize(statement);
    return code;
}

/* A closure of a validation has the number of its batch; those that were called behind the first
 * step which is done again are done again with it. */
static const char closures[] =
    "DELETE FROM closures WHERE attempt < ?1 AND id >= (SELECT min(id) FROM closures WHERE attempt "
    "< ?1 AND step >= ?2 AND json_extract(payload, '$.training') IS NOT 0)";

/* Samples count steps from 0; a save has the number of steps that were done. */
static int supersede_samples(sqlite3 *handle, const cse_supersession *s)
{
    static const char *const statements[] = {
        closures,
        "DELETE FROM timeline WHERE attempt < ?1 AND step >= ?2 - (kind <> 'save')",
        "DELETE FROM kernels WHERE attempt < ?1 AND step >= ?2 - 1",
        "DELETE FROM chain WHERE attempt < ?1 AND step >= ?2",
        "DELETE FROM links WHERE attempt < ?1 AND step >= ?2",
    };
    const int64_t numbers[MOST_NUMBERS] = { s->attempt, s->step };
    int code = supersede_numerics(handle, s);
    for (size_t i = 0; code == SQLITE_OK && i < sizeof statements / sizeof statements[0]; i++)
        code = run(handle, statements[i], numbers, NULL);
    return code;
}

int cse_supersede(sqlite3 *handle, const cse_supersession *s)
{
    if (s->attempt <= 1)
        return SQLITE_OK;
    if (s->series != 0)
        return supersede_points(handle, s, s->series);
    const int code = supersede_series(handle, s);
    return code == SQLITE_OK ? supersede_samples(handle, s) : code;
}

int cse_supersede_all(sqlite3 *handle)
{
    int64_t newest = 0;
    int code =
        run(handle, "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'attempt'", NULL, &newest);
    for (int64_t attempt = 2; code == SQLITE_OK && attempt <= newest; attempt++) {
        const int64_t numbers[MOST_NUMBERS] = { attempt };
        cse_supersession s = { .attempt = attempt, .step = -1, .keeps = true };
        code = run(handle,
                   "SELECT ifnull(min(step), -1) FROM points WHERE attempt = ?1 AND series = "
                   "(SELECT id FROM series WHERE name = 'loss')",
                   numbers, &s.step);
        if (code == SQLITE_OK && s.step >= 0)
            code = cse_supersede(handle, &s);
    }
    return code;
}
