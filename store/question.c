/* SQLite asks an authorizer about each action of a statement when it is prepared: what is not
 * reading tables or calling a function is denied there, so that no pragma, no attached file and no
 * extension is reached. */
#include "store/question.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "store/database.h"
#include "store/reader.h"

enum { BUSY_MS = 5000 };

static int ask_permission(void *self, int action, const char *first, const char *second,
                          const char *database, const char *trigger)
{
    (void)self, (void)first, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

/* ---- rows ---- */

static cse_answer_value value_of(sqlite3_stmt *statement, int column)
{
    cse_answer_value value = { .kind = CSE_ANSWER_NULL };
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        value.kind = CSE_ANSWER_INTEGER;
        value.integer = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_FLOAT:
        value.kind = CSE_ANSWER_REAL;
        value.real = sqlite3_column_double(statement, column);
        break;
    case SQLITE_TEXT:
        value.kind = CSE_ANSWER_TEXT;
        value.bytes = (const char *)sqlite3_column_text(statement, column);
        value.size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_BLOB:
        value.kind = CSE_ANSWER_BLOB;
        value.bytes = sqlite3_column_blob(statement, column);
        value.size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    default:
        break;
    }
    return value;
}

static void tell_columns(const cse_question *question, sqlite3_stmt *statement, int count)
{
    const char **names = cse_calloc((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = sqlite3_column_name(statement, i);
    question->columns(question->self, count, names);
    free(names);
}

/* SQLite's code of the end. */
static int read_rows(const cse_question *question, sqlite3_stmt *statement)
{
    const int count = sqlite3_column_count(statement);
    cse_answer_value *values = cse_calloc((size_t)count, sizeof *values);
    tell_columns(question, statement, count);
    int code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        for (int i = 0; i < count; i++)
            values[i] = value_of(statement, i);
        if (!question->row(question->self, count, values))
            break;
    }
    free(values);
    return code == SQLITE_ROW ? SQLITE_DONE : code;
}

/* ---- the statement ---- */

static cse_status refuse(sqlite3 *handle, int code, const char *path)
{
    switch (code & 0xff) {
    case SQLITE_AUTH:
        return cse_fail_at(
            &(cse_error){ .status = CSE_USAGE, .accepted = "one SELECT, or WITH ... SELECT" },
            "the statement would change something, or reach outside of %s", path);
    case SQLITE_ERROR:
        return cse_fail_at(
            &(cse_error){ .status = CSE_USAGE,
                          .hint = "SELECT name, sql FROM sqlite_master shows tables and columns" },
            "SQL: %s", sqlite3_errmsg(handle));
    case SQLITE_BUSY:
        return cse_fail(CSE_TEMPORARY, "%s is locked by another program; try again", path);
    default:
        return cse_database_fail(handle, path, false);
    }
}

static bool is_blank(const char *rest)
{
    return rest[strspn(rest, " \t\r\n;")] == '\0';
}

static cse_status ask(const cse_question *question, sqlite3 *handle, const char *path)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    sqlite3_set_authorizer(handle, ask_permission, NULL);
    int code = sqlite3_prepare_v2(handle, question->sql, -1, &statement, &rest);
    cse_status status = CSE_OK;
    if (code != SQLITE_OK)
        status = refuse(handle, code, path);
    else if (statement == NULL || !is_blank(rest))
        status = cse_fail(CSE_USAGE, "SQL: one statement is accepted, not %s",
                          statement == NULL ? "none" : "several");
    else if ((code = read_rows(question, statement)) != SQLITE_DONE)
        status = refuse(handle, code, path);
    sqlite3_finalize(statement);
    sqlite3_set_authorizer(handle, NULL, NULL);
    return status;
}

/* ---- the file ---- */

static cse_status ask_run(const cse_question *question, const char *path)
{
    cse_store_reader *reader = NULL;
    CSE_TRY(cse_store_reader_open(question->folder, &reader));
    const cse_status status = ask(question, cse_store_reader_handle(reader), path);
    cse_store_reader_close(&reader);
    return status;
}

static cse_status ask_server(const cse_question *question, const char *path)
{
    sqlite3 *handle = NULL;
    const int code = cse_database_open_view(path, "mode=ro", &handle);
    sqlite3_busy_timeout(handle, BUSY_MS);
    const cse_status status =
        code == SQLITE_OK ? ask(question, handle, path) : cse_database_fail(handle, path, true);
    sqlite3_close(handle);
    return status;
}

cse_status cse_store_ask(const cse_question *question)
{
    char run[PATH_MAX], server[PATH_MAX];
    const char *folder = question->folder;
    if ((size_t)snprintf(run, sizeof run, "%s/run.db", folder) >= sizeof run ||
        (size_t)snprintf(server, sizeof server, "%s/jobs.db", folder) >= sizeof server)
        return cse_fail(CSE_USAGE, "the path of the folder is too long");
    if (access(run, F_OK) == 0)
        return ask_run(question, run);
    if (access(server, F_OK) == 0)
        return ask_server(question, server);
    return cse_fail(CSE_NO_INPUT,
                    "%s has neither run.db nor jobs.db; give the model_dir of a run, or the --root "
                    "of a server",
                    folder);
}
