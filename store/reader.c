/* Queries over the tables of the run store, built from the list of tables in store/rows.h. */
#include "store/reader.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"
#include "store/database.h"
#include "store/examine.h"
#include "store/failure_journal.h"
#include "store/run_lock.h"
#include "store/whole.h"

struct cse_store_reader {
    char *model_dir;
    sqlite3 *handle;
};

/* Parameters 1 to 6 are numbers of the query; the texts of filters follow. */
enum { BUSY_MS = 5000, DEFAULT_LIMIT = 1000, FIRST_FILTER_PLACE = 7 };

sqlite3 *cse_store_reader_handle(cse_store_reader *reader)
{
    return reader->handle;
}

cse_status cse_store_reader_fail(cse_store_reader *reader)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/run.db", reader->model_dir);
    return cse_database_fail(reader->handle, path, false);
}

/* Reading with a write-ahead log needs a writable directory; on a read-only medium the file is
 * opened as immutable. */
static cse_status open_handle(const char *path, sqlite3 **handle)
{
    int code = sqlite3_open_v2(path, handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_busy_timeout(*handle, BUSY_MS); /* a writer may be opening it */
    if (code == SQLITE_OK)
        code = sqlite3_exec(*handle, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY)
        return cse_database_check(*handle, path);
    sqlite3_close(*handle);
    (void)cse_database_open_view(path, "immutable=1", handle);
    return cse_database_check(*handle, path);
}

static cse_status no_store(const char *model_dir)
{
    struct stat about;
    if (stat(model_dir, &about) != 0)
        return cse_fail(CSE_NO_INPUT, "%s: there is no such directory; give the model_dir of a run",
                        model_dir);
    if (!S_ISDIR(about.st_mode))
        return cse_fail(CSE_NO_INPUT, "%s is a file; give the model_dir of a run, a directory",
                        model_dir);
    return cse_fail(CSE_NO_INPUT,
                    "%s has no run store (run.db); give the model_dir of a run, in which `csengine "
                    "start` keeps one",
                    model_dir);
}

static bool was_written_here(cse_store_reader *reader)
{
    char here[256];
    cse_text host = { 0 };
    const bool is_here = gethostname(here, sizeof here) == 0 &&
                         cse_store_reader_key(reader, "host", &host) &&
                         strcmp(host.data, here) == 0;
    cse_text_clear(&host);
    return is_here;
}

/* Of a run whose processes were all killed, the first that reads it makes one file. On its host
 * alone: elsewhere it may live, since not all file systems show its lock to others. */
static cse_status open_whole(cse_store_reader *reader, const char *path)
{
    CSE_TRY(open_handle(path, &reader->handle));
    if (!cse_store_was_left(reader->model_dir) || !was_written_here(reader))
        return CSE_OK;
    sqlite3_close(reader->handle);
    reader->handle = NULL;
    (void)cse_store_make_whole(reader->model_dir); /* it can be read as it is */
    return open_handle(path, &reader->handle);
}

static bool has_log(const char *path)
{
    char log[PATH_MAX + 8];
    struct stat about;
    snprintf(log, sizeof log, "%s-wal", path);
    return stat(log, &about) == 0 && about.st_size > 0;
}

cse_status cse_store_reader_open(const char *model_dir, cse_store_reader **result)
{
    char path[PATH_MAX];
    *result = NULL;
    if ((size_t)snprintf(path, sizeof path, "%s/run.db", model_dir) >= sizeof path ||
        access(path, F_OK) != 0)
        return no_store(model_dir);
    if (cse_store_is_empty(path) && has_log(path)) /* SQLite would remove it */
        return cse_fail_at(&(cse_error){ .status = CSE_DATA,
                                         .hint = "the next start of the run sets it aside and goes "
                                                 "on with what can be read of it" },
                           "run store %s: the file is empty", path);
    cse_store_reader *reader = cse_calloc(1, sizeof *reader);
    reader->model_dir = cse_strdup(model_dir);
    cse_status status = open_whole(reader, path);
    if (status != CSE_OK) {
        cse_store_reader_close(&reader);
        return status;
    }
    sqlite3_busy_timeout(reader->handle, BUSY_MS);
    *result = reader;
    return CSE_OK;
}

void cse_store_reader_close(cse_store_reader **reader)
{
    if (*reader == NULL)
        return;
    sqlite3_close((*reader)->handle);
    free((*reader)->model_dir);
    free(*reader);
    *reader = NULL;
}

bool cse_store_reader_key(cse_store_reader *reader, const char *key, cse_text *value)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(reader->handle, "SELECT value FROM run WHERE key = ?", -1, &statement,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL) {
            cse_text_add(value, "%s", (const char *)sqlite3_column_text(statement, 0));
            found = true;
        }
    }
    sqlite3_finalize(statement);
    return found;
}

/* ---- rows ---- */

/* A column as an expression: stores of version 4 and before do not know the host of a log line. */
static const char *expression_of(cse_store_reader *reader, cse_row_kind kind, const char *column)
{
    if (kind != CSE_ROW_LOG || strcmp(column, "host") != 0)
        return column;
    const bool known = sqlite3_table_column_metadata(reader->handle, NULL, "logs", "host", NULL,
                                                     NULL, NULL, NULL, NULL) == SQLITE_OK;
    return known ? column : "NULL";
}

static bool has_column(cse_row_kind kind, const char *wanted)
{
    const char *columns = cse_row_describe(kind)->columns;
    char name[32];
    while (cse_next_column(&columns, name, sizeof name))
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

static void add_condition(cse_text *sql, bool *first, const char *condition)
{
    cse_text_add(sql, " %s %s", *first ? "WHERE" : "AND", condition);
    *first = false;
}

static cse_status add_filters(cse_store_reader *reader, cse_text *sql, bool *first,
                              cse_row_kind kind, const cse_store_query *query)
{
    int place = FIRST_FILTER_PLACE;
    for (size_t f = 0; f < sizeof query->filters / sizeof query->filters[0]; f++) {
        const cse_store_filter *filter = &query->filters[f];
        if (filter->column == NULL || filter->values == NULL)
            continue;
        if (!has_column(kind, filter->column))
            return cse_fail(CSE_USAGE, "run store: %s has no column %s",
                            cse_row_describe(kind)->table, filter->column);
        add_condition(sql, first, expression_of(reader, kind, filter->column));
        cse_text_add(sql, " IN (");
        for (int v = 0; filter->values[v] != NULL; v++)
            cse_text_add(sql, v > 0 ? ",?%d" : "?%d", place++);
        cse_text_add(sql, ")");
    }
    return CSE_OK;
}

/* The column that orders the rows: the start of a span, the step of rows without an id, else the
 * first column. */
static const char *order_of(cse_row_kind kind, char *name, size_t size)
{
    const char *columns = cse_row_describe(kind)->columns;
    if (kind == CSE_ROW_SPAN)
        return "start_ns";
    if (has_column(kind, "step") && !has_column(kind, "id"))
        return "step";
    cse_next_column(&columns, name, size);
    return name;
}

static cse_status build_sql(cse_store_reader *reader, cse_row_kind kind,
                            const cse_store_query *query, cse_text *sql)
{
    char name[32], order_name[32];
    const char *columns = cse_row_describe(kind)->columns;
    const char *order = order_of(kind, order_name, sizeof order_name);
    bool first = true, has_step = has_column(kind, "step");
    for (int i = 0; cse_next_column(&columns, name, sizeof name); i++) {
        cse_text_add(sql, i == 0 ? "SELECT " : ",");
        cse_text_add(sql, strcmp(name, "content") == 0 ? "NULL" : "%s",
                     expression_of(reader, kind, name));
    }
    cse_text_add(sql, " FROM %s", cse_row_describe(kind)->table);
    if (query->after != 0)
        add_condition(sql, &first, order), cse_text_add(sql, " > ?1");
    if (query->before != 0)
        add_condition(sql, &first, order), cse_text_add(sql, " < ?2");
    if (query->attempt != 0 && has_column(kind, "attempt"))
        add_condition(sql, &first, "attempt = ?3");
    if (query->first_step != 0 && has_step)
        add_condition(sql, &first, "step >= ?4");
    if (query->last_step != 0 && has_step)
        add_condition(sql, &first, "step <= ?5");
    if (query->bad && kind == CSE_ROW_NUMERICS)
        add_condition(sql, &first, "(nan > 0 OR inf > 0 OR saturated > 0)");
    CSE_TRY(add_filters(reader, sql, &first, kind, query));
    cse_text_add(sql, " ORDER BY %s%s", order, query->newest_first ? " DESC" : "");
    if (kind == CSE_ROW_NUMERICS) /* a fixed order within a step: paging counts rows */
        cse_text_add(sql,
                     query->newest_first ? ", attempt DESC, tensor DESC" : ", attempt, tensor");
    cse_text_add(sql, " LIMIT ?6");
    return CSE_OK;
}

static void bind_query(sqlite3_stmt *statement, const cse_store_query *query)
{
    const int64_t numbers[] = { query->after,     query->before,
                                query->attempt,   query->first_step,
                                query->last_step, query->limit > 0 ? query->limit : DEFAULT_LIMIT };
    int place = 1;
    for (; place < FIRST_FILTER_PLACE; place++)
        sqlite3_bind_int64(statement, place, numbers[place - 1]);
    for (size_t f = 0; f < sizeof query->filters / sizeof query->filters[0]; f++)
        for (int v = 0; query->filters[f].column != NULL && query->filters[f].values != NULL &&
                        query->filters[f].values[v] != NULL;
             v++)
            sqlite3_bind_text(statement, place++, query->filters[f].values[v], -1, SQLITE_STATIC);
}

static void read_row(sqlite3_stmt *statement, cse_row *row)
{
    const char *types = cse_row_describe(row->kind)->types;
    row->count = sqlite3_column_count(statement);
    for (int i = 0; i < row->count; i++) {
        cse_field *field = &row->fields[i];
        *field = (cse_field){ .integer = -1 };
        bool is_null = sqlite3_column_type(statement, i) == SQLITE_NULL;
        if (types[i] == 'i') {
            field->integer = sqlite3_column_int64(statement, i);
        } else if (types[i] == 'd') {
            field->number =
                is_null ? (double)__builtin_nan("") : sqlite3_column_double(statement, i);
        } else if (!is_null) {
            field->text = types[i] == 'b' ? sqlite3_column_blob(statement, i)
                                          : (const char *)sqlite3_column_text(statement, i);
            field->size = (size_t)sqlite3_column_bytes(statement, i);
        }
    }
}

static bool is_of_a_later_version(cse_row_kind kind)
{
    return kind == CSE_ROW_KERNEL || kind == CSE_ROW_GOODPUT || kind == CSE_ROW_CHAIN ||
           kind == CSE_ROW_CHAIN_LINKS;
}

/* Stores of an earlier version lack tables that came later. */
static bool has_table(cse_store_reader *reader, cse_row_kind kind)
{
    return sqlite3_table_column_metadata(reader->handle, NULL, cse_row_describe(kind)->table, NULL,
                                         NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

cse_status cse_store_reader_rows(cse_store_reader *reader, cse_row_kind kind,
                                 const cse_store_query *query,
                                 void (*take)(void *self, const cse_row *row), void *self)
{
    cse_text sql = { 0 };
    cse_row row = { .kind = kind };
    sqlite3_stmt *statement = NULL;
    if (is_of_a_later_version(kind) && !has_table(reader, kind))
        return CSE_OK;
    cse_status status = build_sql(reader, kind, query, &sql);
    int code = SQLITE_OK;
    if (status == CSE_OK) {
        code = sqlite3_prepare_v2(reader->handle, sql.data, -1, &statement, NULL);
        if (code == SQLITE_OK) {
            bind_query(statement, query);
            while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                read_row(statement, &row);
                take(self, &row);
            }
        }
        status = code == SQLITE_DONE ? CSE_OK : cse_store_reader_fail(reader);
    }
    sqlite3_finalize(statement);
    cse_text_clear(&sql);
    return status;
}

typedef struct json_rows {
    cse_text *out;
    int count;
} json_rows;

static void take_json(void *self, const cse_row *row)
{
    json_rows *rows = self;
    cse_text_add(rows->out, rows->count++ > 0 ? "," : "");
    cse_row_add_json(rows->out, row);
}

cse_status cse_store_reader_json(cse_store_reader *reader, cse_row_kind kind,
                                 const cse_store_query *query, cse_text *out)
{
    json_rows rows = { .out = out };
    cse_text_add(out, "[");
    CSE_TRY(cse_store_reader_rows(reader, kind, query, take_json, &rows));
    cse_text_add(out, "]");
    return CSE_OK;
}

/* ---- the run ---- */

static void take_status(void *self, const cse_row *row)
{
    cse_run_status *status = self;
    status->since_ms = row->fields[1].integer;
    status->state = cse_run_state_of(row->fields[3].text);
    snprintf(status->reason, sizeof status->reason, "%s",
             row->fields[4].text != NULL ? row->fields[4].text : "");
    snprintf(status->message, sizeof status->message, "%s",
             row->fields[5].text != NULL ? row->fields[5].text : "");
    status->attempt = row->fields[6].integer;
}

json_t *cse_store_reader_failure_journal(cse_store_reader *reader)
{
    cse_run_status stored = { .attempt = 0 };
    const cse_store_query newest = { .limit = 1, .newest_first = true };
    json_t *journal = cse_failure_journal_read(reader->model_dir);
    if (journal == NULL)
        return NULL;
    cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &newest, take_status, &stored);
    if (json_integer_value(json_object_get(journal, "attempt")) >= stored.attempt)
        return journal;
    json_decref(journal); /* of an attempt that is not the last */
    return NULL;
}

/* Completes step and state from the write-failure journal. */
static void take_from_journal(cse_store_reader *reader, cse_run_status *status)
{
    cse_failure_journal_transition last;
    json_t *journal = cse_store_reader_failure_journal(reader);
    int64_t step = journal != NULL ? json_integer_value(json_object_get(journal, "last_step")) : -1;
    if (step > status->last_step)
        status->last_step = step;
    if (cse_failure_journal_last_transition(journal, &last)) {
        status->state = last.to;
        snprintf(status->reason, sizeof status->reason, "%s", last.reason);
        snprintf(status->message, sizeof status->message, "%s", last.message);
        status->since_ms = last.time_ms;
        status->attempt = json_integer_value(json_object_get(journal, "attempt"));
    }
    json_decref(journal);
}

cse_status cse_store_reader_status(cse_store_reader *reader, cse_run_status *status)
{
    /* The lock first: if the run ends between the two reads, its own final state is found. */
    return cse_store_reader_status_of(reader, cse_run_is_alive(reader->model_dir), status);
}

cse_status cse_store_last_step(const char *model_dir, int64_t *step)
{
    cse_store_reader *reader = NULL;
    cse_run_status run = { .last_step = -1 };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    const cse_status status = cse_store_reader_status(reader, &run);
    cse_store_reader_close(&reader);
    *step = run.last_step;
    return status;
}

cse_status cse_store_reader_status_of(cse_store_reader *reader, bool alive, cse_run_status *status)
{
    cse_text text = { 0 };
    const cse_store_query newest = { .limit = 1, .newest_first = true };
    *status = (cse_run_status){ .state = CSE_RUN_NONE, .last_step = -1, .alive = alive };
    CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &newest, take_status, status));
    if (cse_store_reader_key(reader, "last_step", &text))
        status->last_step = strtoll(text.data, NULL, 10);
    cse_text_clear(&text);
    take_from_journal(reader, status);
    if (status->alive || cse_run_state_is_terminal(status->state) ||
        status->state == CSE_RUN_QUEUED)
        return CSE_OK;
    snprintf(status->message, sizeof status->message,
             "the run's process ended without a report; it was %s",
             status->state == CSE_RUN_NONE ? "beginning" : cse_run_state_name(status->state));
    snprintf(status->reason, sizeof status->reason, "%s",
             cse_run_reason_name(CSE_REASON_INTERRUPTED));
    status->state = CSE_RUN_FAILED;
    status->derived = true;
    return CSE_OK;
}

static void take_key(void *self, const cse_row *row)
{
    cse_text *out = self;
    cse_json_add_string(out, row->fields[0].text);
    cse_text_add(out, ":");
    cse_json_add_string(out, row->fields[1].text);
    cse_text_add(out, ",");
}

cse_status cse_store_reader_run_json(cse_store_reader *reader, cse_text *out)
{
    cse_run_status status;
    const cse_store_query all = { .limit = 0 };
    CSE_TRY(cse_store_reader_status(reader, &status));
    cse_text_add(out, "{");
    CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_RUN, &all, take_key, out));
    cse_text_add(out, "\"status\":{\"state\":");
    cse_json_add_string(out, cse_run_state_name(status.state));
    cse_text_add(out, ",\"reason\":");
    cse_json_add_string(out, status.reason);
    cse_text_add(out, ",\"message\":");
    cse_json_add_string(out, status.message);
    cse_text_add(out,
                 ",\"since_ms\":%lld,\"attempt\":%lld,\"last_step\":%lld,\"alive\":%s,"
                 "\"derived\":%s}}",
                 (long long)status.since_ms, (long long)status.attempt, (long long)status.last_step,
                 status.alive ? "true" : "false", status.derived ? "true" : "false");
    return CSE_OK;
}

cse_status cse_store_reader_artefact(cse_store_reader *reader, const char *name, cse_text *content,
                                     char *media_type, size_t size)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(reader->handle,
                           "SELECT media_type, content FROM artefacts WHERE name = ?", -1,
                           &statement, NULL) != SQLITE_OK)
        return cse_store_reader_fail(reader);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    if (found) {
        const char *type = (const char *)sqlite3_column_text(statement, 0);
        const void *bytes = sqlite3_column_blob(statement, 1);
        if (media_type != NULL)
            snprintf(media_type, size, "%s", type != NULL ? type : "application/octet-stream");
        cse_text_add_bytes(content, bytes != NULL ? bytes : "",
                           (size_t)sqlite3_column_bytes(statement, 1));
    }
    sqlite3_finalize(statement);
    return found ? CSE_OK
                 : cse_fail(CSE_NO_INPUT, "run store of %s: there is no artefact %s",
                            reader->model_dir, name);
}
