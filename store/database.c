/* SQLite with a write-ahead log: readers and the writer never wait for each other, and commits
 * survive a killed process. Only a power failure can lose the last commits (synchronous=NORMAL);
 * those steps are repeated from a checkpoint. */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "store/options.h"
#include "store/result_code.h"
#include "store/supersede.h"
#include "store/whole.h"

struct cse_database {
    sqlite3 *handle;
    sqlite3_stmt *inserts[CSE_ROW_COUNT];
    int64_t attempt;
    bool takes_over;
    int64_t past_step; /* the last that has points of earlier attempts; -1: none */
    char path[PATH_MAX];
    struct stat file, log; /* when it was opened; log: st_ino 0: not seen yet */
    bool is_damaged;
};

enum { BUSY_MS = 10000, END_WAIT_MS = 2000, STATEMENT_BYTES = 512 };

/* Maps SQLite's result code to a status. */
static cse_status status_of(int code, bool opening)
{
    if (cse_is_damage(code))
        return CSE_DATA;
    switch (code & 0xff) {
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return CSE_PERMISSION;
    case SQLITE_CANTOPEN:
        return opening ? CSE_CANNOT_CREATE : CSE_IO;
    case SQLITE_NOMEM:
        return CSE_TEMPORARY;
    default:
        return CSE_IO;
    }
}

cse_status cse_database_fail(sqlite3 *handle, const char *path, bool opening)
{
    const int code = sqlite3_extended_errcode(handle);
    const cse_error error = { .status = status_of(code, opening),
                              .hint = cse_is_damage(code)
                                          ? "the next start of the run sets it aside and goes on "
                                            "with what can be read of it"
                                          : NULL };
    return cse_fail_at(&error, "run store %s: %s", path, sqlite3_errmsg(handle));
}

static cse_status run_sql(sqlite3 *handle, const char *path, const char *sql)
{
    int code = sqlite3_exec(handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? CSE_OK : cse_database_fail(handle, path, true);
}

/* A query without a parameter takes none: binding it is refused, and changes nothing. */
int64_t cse_sql_integer_of(sqlite3 *handle, const char *sql, int64_t a, int64_t b)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = 0;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, a);
        sqlite3_bind_int64(statement, 2, b);
        if (sqlite3_step(statement) == SQLITE_ROW)
            value = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return value;
}

int64_t cse_sql_integer(sqlite3 *handle, const char *sql)
{
    return cse_sql_integer_of(handle, sql, 0, 0);
}

cse_status cse_database_check(sqlite3 *handle, const char *path)
{
    /* The first access to the file: checks that it is a database. */
    CSE_TRY(run_sql(handle, path, "SELECT count(*) FROM sqlite_master"));
    int64_t application = cse_sql_integer(handle, "PRAGMA application_id");
    int64_t version = cse_sql_integer(handle, "PRAGMA user_version");
    if (application == 0 && cse_sql_integer(handle, "SELECT count(*) FROM sqlite_master") == 0)
        return cse_fail(CSE_TEMPORARY, "%s is being created", path);
    if (application != CSE_STORE_APPLICATION_ID)
        return cse_fail(CSE_DATA,
                        "%s is a database, but no run store of csengine: move it away, or choose "
                        "another model_dir",
                        path);
    if (version < CSE_STORE_OLDEST_VERSION || version > CSE_STORE_VERSION)
        return cse_fail(CSE_DATA,
                        "%s is a run store of version %lld; this csengine has version %d: use the "
                        "csengine that wrote it, or choose another model_dir",
                        path, (long long)version, CSE_STORE_VERSION);
    return CSE_OK;
}

/* Whether the file is empty or of an earlier version, which lacks some tables. */
static bool lacks_tables(sqlite3 *handle)
{
    return cse_sql_integer(handle, "SELECT count(*) FROM sqlite_master") == 0 ||
           (cse_sql_integer(handle, "PRAGMA application_id") == CSE_STORE_APPLICATION_ID &&
            cse_sql_integer(handle, "PRAGMA user_version") < CSE_STORE_VERSION);
}

static bool has_column(sqlite3 *handle, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(handle, NULL, table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

/* Creates tables, application_id and user_version in one transaction: no partial schema exists. */
static cse_status prepare_schema(sqlite3 *handle, const char *path)
{
    CSE_TRY(run_sql(handle, path,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                    "PRAGMA journal_size_limit=16777216"));
    CSE_TRY(run_sql(handle, path, "BEGIN IMMEDIATE"));
    cse_status status = CSE_OK;
    if (lacks_tables(handle)) {
        cse_text mark = { 0 };
        cse_text_add(&mark, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                     CSE_STORE_APPLICATION_ID, CSE_STORE_VERSION);
        const bool is_earlier = cse_sql_integer(handle, "PRAGMA user_version") > 0;
        status = run_sql(handle, path, cse_store_schema);
        if (status == CSE_OK && !has_column(handle, "buckets", "finite"))
            status = run_sql(handle, path, "ALTER TABLE buckets ADD COLUMN finite INTEGER");
        if (status == CSE_OK && !has_column(handle, "logs", "host"))
            status = run_sql(handle, path, "ALTER TABLE logs ADD COLUMN host TEXT");
        if (status == CSE_OK && is_earlier && cse_supersede_all(handle) != SQLITE_OK)
            status = cse_fail(CSE_IO, "run store %s: %s", path, sqlite3_errmsg(handle));
        if (status == CSE_OK)
            status = run_sql(handle, path, mark.data);
        cse_text_clear(&mark);
    }
    if (status == CSE_OK)
        status = cse_database_check(handle, path);
    if (status == CSE_OK)
        return run_sql(handle, path, "COMMIT");
    sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static cse_status prepare_insert(cse_database *database, cse_row_kind kind)
{
    char sql[STATEMENT_BYTES], name[32];
    const cse_row_description *row = cse_row_describe(kind);
    const char *columns = row->columns;
    int length = snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO %s(", row->table), count = 0;
    while (cse_next_column(&columns, name, sizeof name))
        length += snprintf(sql + length, sizeof sql - (size_t)length, "%s%s",
                           count++ > 0 ? "," : "", name);
    length += snprintf(sql + length, sizeof sql - (size_t)length, ") VALUES(?");
    for (int i = 1; i < count; i++)
        length += snprintf(sql + length, sizeof sql - (size_t)length, ",?");
    snprintf(sql + length, sizeof sql - (size_t)length, ")");
    int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &database->inserts[kind], NULL);
    return code == SQLITE_OK ? CSE_OK
                             : cse_fail(CSE_DATA, "run store: table %s is not as expected: %s",
                                        row->table, sqlite3_errmsg(database->handle));
}

cse_status cse_database_open(const char *model_dir, cse_database **result)
{
    char path[PATH_MAX];
    *result = NULL;
    if ((size_t)snprintf(path, sizeof path, "%s/run.db", model_dir) >= sizeof path)
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", model_dir);
    return cse_database_open_file(path, result);
}

cse_status cse_database_open_file(const char *path, cse_database **result)
{
    cse_database *database = cse_calloc(1, sizeof *database);
    *result = NULL;
    snprintf(database->path, sizeof database->path, "%s", path);
    int code =
        sqlite3_open_v2(path, &database->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    cse_status status = code == SQLITE_OK ? CSE_OK
                                          : cse_fail(status_of(code, true), "run store %s: %s",
                                                     path, sqlite3_errstr(code));
    if (status == CSE_OK) {
        sqlite3_busy_timeout(database->handle, BUSY_MS);
        status = prepare_schema(database->handle, path);
    }
    for (int kind = 0; status == CSE_OK && kind < CSE_ROW_COUNT; kind++)
        status = prepare_insert(database, (cse_row_kind)kind);
    if (status == CSE_OK && stat(path, &database->file) != 0)
        status = cse_fail(CSE_IO, "run store %s: %s", path, strerror(errno));
    if (status != CSE_OK)
        cse_database_close(&database);
    *result = database;
    return status;
}

/* Characters that mean something in a URI are written as their numbers. */
static void add_uri(cse_text *uri, const char *path, const char *how)
{
    cse_text_add(uri, "file:");
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '%' || *c == '?' || *c == '#')
            cse_text_add(uri, "%%%02X", (unsigned)(unsigned char)*c);
        else
            cse_text_add_bytes(uri, c, 1);
    cse_text_add(uri, "?%s", how);
}

int cse_database_open_view(const char *path, const char *how, sqlite3 **handle)
{
    cse_text uri = { 0 };
    const int access = strcmp(how, "mode=rw") == 0 ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    add_uri(&uri, path, how);
    const int code =
        sqlite3_open_v2(uri.data, handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    cse_text_clear(&uri);
    return code;
}

sqlite3 *cse_database_handle(cse_database *database)
{
    return database->handle;
}

bool cse_database_is_damaged(const cse_database *database)
{
    return database->is_damaged;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The log is made by the first transaction, and stays until the last connection closes. */
bool cse_database_is_in_place(cse_database *database, const char **why)
{
    char path[PATH_MAX + 8];
    struct stat file, log;
    snprintf(path, sizeof path, "%s-wal", database->path);
    if (stat(database->path, &file) != 0) {
        *why = "it was removed while it was written";
        return errno != ENOENT && errno != ENOTDIR; /* whatever else it is, nothing is known */
    }
    *why = "another file was put in its place while it was written";
    if (!is_same(&file, &database->file))
        return false;
    *why = "it was cut while it was written";
    if (file.st_size < database->file.st_size)
        return false;
    database->file = file;
    *why = "its log run.db-wal was removed while it was written";
    const bool has_log = stat(path, &log) == 0;
    if (database->log.st_ino != 0)
        return has_log && is_same(&log, &database->log);
    if (has_log)
        database->log = log;
    return true;
}

cse_status cse_database_end(cse_database *database)
{
    return cse_database_make_whole(database->handle, "run.db", END_WAIT_MS);
}

void cse_database_close(cse_database **database)
{
    if (*database == NULL)
        return;
    for (int kind = 0; kind < CSE_ROW_COUNT; kind++)
        sqlite3_finalize((*database)->inserts[kind]);
    sqlite3_close((*database)->handle);
    free(*database);
    *database = NULL;
}

void cse_database_abandon(cse_database **database)
{
    if (*database != NULL)
        sqlite3_db_config((*database)->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    cse_database_close(database);
}

static void bind_field(sqlite3_stmt *statement, int place, char type, const cse_field *field)
{
    if (type == 'i')
        sqlite3_bind_int64(statement, place, field->integer);
    else if (type == 'd')
        sqlite3_bind_double(statement, place, field->number);
    else if (field->text == NULL)
        sqlite3_bind_null(statement, place);
    else if (type == 'b')
        sqlite3_bind_blob64(statement, place, field->text, field->size, SQLITE_STATIC);
    else
        sqlite3_bind_text64(statement, place, field->text, field->size, SQLITE_STATIC, SQLITE_UTF8);
}

static int run_insert(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* What earlier attempts recorded from a step on is replaced: of one series, or of all. */
static int supersede(cse_database *database, int64_t series, int64_t step)
{
    const int code =
        cse_supersede(database->handle, &(cse_supersession){ .attempt = database->attempt,
                                                             .step = step,
                                                             .series = series,
                                                             .keeps = !database->takes_over });
    if (code == SQLITE_OK && series == 0 && database->past_step >= step)
        database->past_step = step - 1;
    return code;
}

/* A value for a step that an earlier attempt has one of: a validation that is done again. */
static int insert_points(cse_database *database, const cse_row *row)
{
    sqlite3_stmt *statement = database->inserts[CSE_ROW_POINT];
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < cse_row_point_count(row); i++) {
        cse_point point = cse_row_point(row, i);
        if (point.step <= database->past_step)
            code = supersede(database, point.series, point.step);
        if (code != SQLITE_OK)
            break;
        sqlite3_bind_int64(statement, 1, point.series);
        sqlite3_bind_int64(statement, 2, database->attempt);
        sqlite3_bind_int64(statement, 3, point.step);
        sqlite3_bind_int64(statement, 4, point.time_ms);
        sqlite3_bind_double(statement, 5, point.value);
        code = run_insert(statement);
    }
    return code;
}

/* A file has one row: that of the checkpoint which it is. */
static int forget_checkpoint(cse_database *database, const cse_row *row)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(
        database->handle, "DELETE FROM checkpoints WHERE path = ?1 AND step = ?2 AND id < ?3", -1,
        &statement, NULL);
    bind_field(statement, 1, 's', &row->fields[4]);
    bind_field(statement, 2, 'i', &row->fields[2]);
    bind_field(statement, 3, 'i', &row->fields[0]);
    if (code == SQLITE_OK)
        code = run_insert(statement);
    sqlite3_finalize(statement);
    return code;
}

static int insert_row(cse_database *database, const cse_row *row)
{
    int code = SQLITE_OK;
    if (row->kind == CSE_ROW_POINTS)
        return insert_points(database, row);
    if (row->kind == CSE_ROW_STEPS_FROM)
        return supersede(database, 0, row->fields[0].integer);
    if (row->kind == CSE_ROW_CHECKPOINT)
        code = forget_checkpoint(database, row);
    if (code != SQLITE_OK)
        return code;
    sqlite3_stmt *statement = database->inserts[row->kind];
    const char *types = cse_row_describe(row->kind)->types;
    for (int i = 0; i < row->count; i++)
        bind_field(statement, i + 1, types[i], &row->fields[i]);
    code = run_insert(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

void cse_database_begin(cse_database *database, int64_t attempt, bool takes_over)
{
    char highest[STATEMENT_BYTES];
    snprintf(highest, sizeof highest,
             "WITH RECURSIVE before(attempt) AS (SELECT 1 UNION ALL SELECT attempt + 1 FROM before "
             "WHERE attempt + 1 < %lld) SELECT ifnull(max((SELECT max(step) FROM points WHERE "
             "series = id AND points.attempt = before.attempt)), -1) FROM series, before",
             (long long)attempt);
    database->attempt = attempt;
    database->takes_over = takes_over;
    database->past_step = cse_sql_integer(database->handle, highest);
}

cse_status cse_database_write(cse_database *database, const cse_text *rows)
{
    cse_row row;
    size_t at = 0;
    int code = sqlite3_exec(database->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    while (code == SQLITE_OK && cse_row_next(rows, &at, &row))
        code = insert_row(database, &row);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database->handle, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return CSE_OK;
    const int failure = sqlite3_extended_errcode(database->handle);
    cse_status status = cse_fail(cse_is_damage(failure) ? CSE_DATA : CSE_IO, "%s",
                                 sqlite3_errmsg(database->handle));
    if (!sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void note_damage(cse_database *database)
{
    database->is_damaged =
        database->is_damaged || cse_is_damage(sqlite3_extended_errcode(database->handle));
}

int64_t cse_database_integer(cse_database *database, const char *sql)
{
    const int64_t value = cse_sql_integer(database->handle, sql);
    note_damage(database);
    return value;
}

void cse_database_text(cse_database *database, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *statement = NULL;
    text[0] = '\0';
    if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    note_damage(database);
    sqlite3_finalize(statement);
}

void cse_database_series(cse_database *database,
                         void (*take)(void *self, int64_t id, const char *name), void *self)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database->handle, "SELECT id, name FROM series ORDER BY id", -1,
                           &statement, NULL) == SQLITE_OK)
        while (sqlite3_step(statement) == SQLITE_ROW)
            take(self, sqlite3_column_int64(statement, 0),
                 (const char *)sqlite3_column_text(statement, 1));
    note_damage(database);
    sqlite3_finalize(statement);
}

void cse_database_checkpoints(cse_database *database, void (*take)(void *self, const cse_row *row),
                              void *self)
{
    sqlite3_stmt *statement = NULL;
    const cse_row_description *about = cse_row_describe(CSE_ROW_CHECKPOINT);
    if (sqlite3_prepare_v2(database->handle,
                           "SELECT id, attempt, step, time_ms, path, bytes, digest, write_ms, "
                           "verified, deleted FROM checkpoints WHERE deleted = 0 ORDER BY id",
                           -1, &statement, NULL) == SQLITE_OK)
        while (sqlite3_step(statement) == SQLITE_ROW) {
            cse_row row = { .kind = CSE_ROW_CHECKPOINT, .count = (int)strlen(about->types) };
            for (int i = 0; i < row.count; i++)
                if (about->types[i] == 'i')
                    row.fields[i].integer = sqlite3_column_int64(statement, i);
                else
                    row.fields[i].text = (const char *)sqlite3_column_text(statement, i);
            take(self, &row);
        }
    sqlite3_finalize(statement);
}

void cse_database_prune(cse_database *database, int64_t event, int64_t time_ms)
{
    char sql[STATEMENT_BYTES];
    snprintf(sql, sizeof sql,
             "DELETE FROM events WHERE id <= %lld AND type NOT IN "
             "('state','checkpoint','gap','damaged'); DELETE FROM topology WHERE time_ms < %lld;"
             "DELETE FROM timeline WHERE rowid < (SELECT max(rowid) FROM timeline) - %d;"
             "DELETE FROM kernels WHERE rowid < (SELECT max(rowid) FROM kernels) - %d",
             (long long)event, (long long)time_ms, CSE_STORE_KEPT_SPANS, CSE_STORE_KEPT_KERNELS);
    sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
}
