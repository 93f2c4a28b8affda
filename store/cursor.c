/* Each cursor is one prepared statement. */
#include "store/cursor.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

struct cse_cursor {
    cse_store_reader *reader;
    sqlite3_stmt *statement;
};

/* Finds rows that a later attempt replaced: those from its first step on. A join, so that the first
 * steps of the attempts are computed once and not for each row. */
#define LATER_ATTEMPTS(table, condition)                                            \
    " LEFT JOIN (SELECT attempt AS later, min(step) AS first FROM " table condition \
    " GROUP BY attempt) AS again ON again.later > x.attempt AND again.first <= x.step "
#define OF_THE_LAST_ATTEMPT "again.later IS NULL"
#define OF_THE_SERIES " WHERE series = (SELECT id FROM series WHERE name = ?1)"

static const char numbers_sql[] =
    "SELECT x.step, x.tensor, x.attempt, t.name, t.scope, t.op, t.kind, t.source_dtype, t.dtype, "
    "t.backward, t.file, t.line, x.count, x.nan, x.inf, x.saturated, x.flushed, x.zeros, "
    "x.absorbed, x.max_exponent, x.first_microbatch, x.digest, "
    "CASE WHEN ?4 THEN x.histogram ELSE NULL END "
    "FROM numerics AS x JOIN tensors AS t ON t.id = x.tensor" LATER_ATTEMPTS(
        "numerics", "") "WHERE x.step >= ?1 AND x.step <= ?2 "
                        "AND (NOT ?3 OR x.nan + x.inf > 0 OR x.first_microbatch >= 0) "
                        "AND " OF_THE_LAST_ATTEMPT " ORDER BY x.step, x.tensor";

static const char points_sql[] =
    "SELECT x.step, x.time_ms, x.value, x.attempt FROM points AS x" LATER_ATTEMPTS(
        "points", OF_THE_SERIES) OF_THE_SERIES " AND " OF_THE_LAST_ATTEMPT " ORDER BY x.step";

static const char new_points_sql[] =
    "SELECT step, time_ms, value, attempt FROM points" OF_THE_SERIES
    " AND attempt = ?2 AND step > ?3 ORDER BY step";

static cse_status open_cursor(cse_store_reader *reader, const char *sql, cse_cursor **cursor)
{
    sqlite3_stmt *statement = NULL;
    *cursor = NULL;
    if (sqlite3_prepare_v2(cse_store_reader_handle(reader), sql, -1, &statement, NULL) != SQLITE_OK)
        return cse_store_reader_fail(reader);
    *cursor = cse_calloc(1, sizeof **cursor);
    **cursor = (cse_cursor){ .reader = reader, .statement = statement };
    return CSE_OK;
}

void cse_cursor_close(cse_cursor **cursor)
{
    if (*cursor == NULL)
        return;
    sqlite3_finalize((*cursor)->statement);
    free(*cursor);
    *cursor = NULL;
}

static cse_status step_cursor(cse_cursor *cursor, bool *found)
{
    int code = sqlite3_step(cursor->statement);
    *found = code == SQLITE_ROW;
    return *found || code == SQLITE_DONE ? CSE_OK : cse_store_reader_fail(cursor->reader);
}

cse_status cse_cursor_numbers(cse_store_reader *reader, const cse_numbers_query *query,
                              cse_cursor **cursor)
{
    CSE_TRY(open_cursor(reader, numbers_sql, cursor));
    sqlite3_stmt *s = (*cursor)->statement;
    sqlite3_bind_int64(s, 1, query->first_step);
    sqlite3_bind_int64(s, 2, query->last_step > 0 ? query->last_step : INT64_MAX);
    sqlite3_bind_int(s, 3, query->nonfinite);
    sqlite3_bind_int(s, 4, query->histograms);
    return CSE_OK;
}

/* Never NULL, but for `column` of a value that may be absent. */
static const char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text != NULL ? text : "";
}

cse_status cse_cursor_next_numbers(cse_cursor *cursor, cse_numbers *n, bool *found)
{
    sqlite3_stmt *s = cursor->statement;
    CSE_TRY(step_cursor(cursor, found));
    if (!*found)
        return CSE_OK;
    *n = (cse_numbers){ .step = sqlite3_column_int64(s, 0),
                        .tensor = sqlite3_column_int64(s, 1),
                        .attempt = sqlite3_column_int64(s, 2),
                        .name = text_at(s, 3),
                        .scope = text_at(s, 4),
                        .op = text_at(s, 5),
                        .kind = text_at(s, 6),
                        .source_dtype = text_at(s, 7),
                        .dtype = text_at(s, 8),
                        .backward = sqlite3_column_int(s, 9) != 0,
                        .file = (const char *)sqlite3_column_text(s, 10),
                        .line = sqlite3_column_int(s, 11) };
    int64_t *const counts[] = { &n->count,     &n->nan,          &n->inf,
                                &n->saturated, &n->flushed,      &n->zeros,
                                &n->absorbed,  &n->max_exponent, &n->first_microbatch };
    for (int i = 0; i < (int)(sizeof counts / sizeof counts[0]); i++)
        *counts[i] = sqlite3_column_int64(s, 12 + i);
    if (sqlite3_column_bytes(s, 21) == 8)
        n->digest = sqlite3_column_blob(s, 21);
    n->bins = sqlite3_column_bytes(s, 22) / 8;
    n->histogram = sqlite3_column_blob(s, 22);
    return CSE_OK;
}

cse_status cse_cursor_points(cse_store_reader *reader, const char *series, cse_cursor **cursor)
{
    CSE_TRY(open_cursor(reader, points_sql, cursor));
    sqlite3_bind_text((*cursor)->statement, 1, series, -1, SQLITE_TRANSIENT);
    return CSE_OK;
}

cse_status cse_cursor_new_points(cse_store_reader *reader, const char *series, int64_t attempt,
                                 int64_t after_step, cse_cursor **cursor)
{
    CSE_TRY(open_cursor(reader, new_points_sql, cursor));
    sqlite3_bind_text((*cursor)->statement, 1, series, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64((*cursor)->statement, 2, attempt);
    sqlite3_bind_int64((*cursor)->statement, 3, after_step);
    return CSE_OK;
}

cse_status cse_cursor_next_point(cse_cursor *cursor, cse_point *point, bool *found)
{
    sqlite3_stmt *s = cursor->statement;
    CSE_TRY(step_cursor(cursor, found));
    if (!*found)
        return CSE_OK;
    *point = (cse_point){ .step = sqlite3_column_int64(s, 0),
                          .time_ms = sqlite3_column_int64(s, 1),
                          .value = sqlite3_column_type(s, 2) == SQLITE_NULL
                                       ? (double)NAN
                                       : sqlite3_column_double(s, 2) };
    return CSE_OK;
}

int64_t cse_cursor_point_attempt(const cse_cursor *cursor)
{
    return sqlite3_column_int64(cursor->statement, 3);
}

/* ---- the first tensor that is not finite ---- */

/* For the order within a step: states come before all microbatches, sums over the batch after. */
static int64_t microbatch_of(const cse_numbers *n)
{
    if (strcmp(n->kind, "weight") == 0 || strcmp(n->kind, "state") == 0)
        return -1;
    return n->first_microbatch >= 0 ? n->first_microbatch : INT64_MAX;
}

/* The texts of `n` in memory of the caller's. */
static void keep_texts(cse_numbers *n, cse_text *texts)
{
    const char **const all[] = { &n->name,         &n->scope, &n->op,  &n->kind,
                                 &n->source_dtype, &n->dtype, &n->file };
    size_t at[sizeof all / sizeof all[0]];
    texts->size = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        at[i] = texts->size;
        if (*all[i] != NULL)
            cse_text_add_bytes(texts, *all[i], strlen(*all[i]) + 1);
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        *all[i] = *all[i] != NULL ? texts->data + at[i] : NULL;
    n->digest = n->histogram = NULL;
    n->bins = 0;
}

cse_status cse_reader_first_nonfinite(cse_store_reader *reader, cse_numbers *first, cse_text *texts,
                                      bool *found)
{
    cse_cursor *cursor = NULL;
    cse_numbers row;
    bool more = true;
    *found = false;
    CSE_TRY(cse_cursor_numbers(reader, &(cse_numbers_query){ .nonfinite = true }, &cursor));
    cse_status status = cse_cursor_next_numbers(cursor, &row, &more);
    while (status == CSE_OK && more && (!*found || row.step == first->step)) {
        if (!*found || microbatch_of(&row) < microbatch_of(first)) {
            *first = row;
            keep_texts(first, texts);
            *found = true;
        }
        status = cse_cursor_next_numbers(cursor, &row, &more);
    }
    cse_cursor_close(&cursor);
    return status;
}
