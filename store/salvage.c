/* Keys are integers but for two small tables, so that the next readable one is found by doubling
 * the distance and halving it again: of the last column first, which skips one leaf of the tree. */
#include "store/salvage.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "store/rows.h"

enum { MOST_KEYS = 4, MOST_GAPS = 4000, MOST_COLUMNS = 64, NAME_BYTES = 32 };

typedef cse_salvaged_table table;

#define ROWS(kind) cse_row_describe(kind)

static table table_of(int index)
{
    static const struct {
        cse_row_kind kind;
        int keys;
    } tables[] = {
        { CSE_ROW_RUN, 0 },        { CSE_ROW_TRANSITION, 1 }, { CSE_ROW_SERIES, 1 },
        { CSE_ROW_CHECKPOINT, 1 }, { CSE_ROW_LOG, 1 },        { CSE_ROW_EVENT, 1 },
        { CSE_ROW_CLOSURE, 1 },    { CSE_ROW_POINT, 3 },      { CSE_ROW_BUCKET, 4 },
        { CSE_ROW_TENSOR, 1 },     { CSE_ROW_NUMERICS, 3 },   { CSE_ROW_TOPOLOGY, 1 },
        { CSE_ROW_GOODPUT, 1 },    { CSE_ROW_CHAIN, 1 },      { CSE_ROW_CHAIN_LINKS, 1 },
        { CSE_ROW_ARTEFACT, 0 },
    };
    const int count = (int)(sizeof tables / sizeof tables[0]);
    if (index < count)
        return (table){ ROWS(tables[index].kind)->table, ROWS(tables[index].kind)->columns,
                        ROWS(tables[index].kind)->types, tables[index].keys };
    if (index == count)
        return (table){ "superseded", ROWS(CSE_ROW_POINT)->columns, ROWS(CSE_ROW_POINT)->types, 3 };
    if (index == count + 1) /* these two have no key but the number of the row */
        return (table){ "timeline", "rowid attempt step process kind start_ns end_ns", "iiissii",
                        1 };
    if (index == count + 2)
        return (table){ "kernels",
                        "rowid attempt step process kernel calls total_ns min_ns median_ns",
                        "iiisiiiii", 1 };
    return (table){ .name = NULL };
}

/* ---- statements ---- */

/* A column that a store of an earlier version lacks is read as NULL. */
static bool has_column(sqlite3 *handle, const char *name, const char *column)
{
    return strcmp(column, "rowid") == 0 ||
           sqlite3_table_column_metadata(handle, NULL, name, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static void add_columns(cse_text *sql, const table *t, int most, sqlite3 *present_in)
{
    const char *columns = t->columns;
    char name[NAME_BYTES];
    for (int i = 0; i < most && cse_next_column(&columns, name, sizeof name); i++)
        cse_text_add(sql, "%s%s", i > 0 ? "," : "",
                     present_in == NULL || has_column(present_in, t->name, name) ? name : "NULL");
}

/* Text keys: downwards from the end as well; integers: from a key on. */
static sqlite3_stmt *new_select(sqlite3 *from, const table *t, bool down)
{
    cse_text sql = { 0 };
    sqlite3_stmt *statement = NULL;
    const int keys = t->keys > 0 ? t->keys : 1;
    cse_text_add(&sql, "SELECT ");
    add_columns(&sql, t, MOST_COLUMNS, from);
    cse_text_add(&sql, " FROM %s", t->name);
    if (t->keys > 0) {
        cse_text_add(&sql, " WHERE (");
        add_columns(&sql, t, keys, NULL);
        cse_text_add(&sql, ") >= (?1%s%s%s)", keys > 1 ? ",?2" : "", keys > 2 ? ",?3" : "",
                     keys > 3 ? ",?4" : "");
    }
    cse_text_add(&sql, " ORDER BY ");
    const char *columns = t->columns;
    char name[NAME_BYTES];
    for (int i = 0; i < keys && cse_next_column(&columns, name, sizeof name); i++)
        cse_text_add(&sql, "%s%s%s", i > 0 ? "," : "", name, down ? " DESC" : "");
    sqlite3_prepare_v2(from, sql.data, -1, &statement, NULL);
    cse_text_clear(&sql);
    return statement;
}

static sqlite3_stmt *new_insert(sqlite3 *to, const table *t)
{
    cse_text sql = { 0 };
    sqlite3_stmt *statement = NULL;
    cse_text_add(&sql, "INSERT OR IGNORE INTO %s(", t->name);
    add_columns(&sql, t, MOST_COLUMNS, NULL);
    cse_text_add(&sql, ") VALUES(?");
    for (size_t i = 1; t->types[i] != '\0'; i++)
        cse_text_add(&sql, ",?");
    cse_text_add(&sql, ")");
    sqlite3_prepare_v2(to, sql.data, -1, &statement, NULL);
    cse_text_clear(&sql);
    return statement;
}

/* ---- one row ---- */

/* Whether a text is one: jansson takes valid UTF-8 alone. */
static bool is_text(sqlite3_stmt *row, int column, bool is_json)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    const size_t size = (size_t)sqlite3_column_bytes(row, column);
    if (text == NULL || strlen(text) != size)
        return false;
    json_t *value =
        is_json ? json_loadb(text, size, JSON_DECODE_ANY, NULL) : json_stringn(text, size);
    const bool is_good = value != NULL || (is_json && size == 0);
    json_decref(value);
    return is_good;
}

static bool fits(sqlite3_stmt *row, int column, char type)
{
    const int found = sqlite3_column_type(row, column);
    if (found == SQLITE_NULL)
        return true;
    switch (type) {
    case 'i':
        return found == SQLITE_INTEGER;
    case 'd':
        return found == SQLITE_FLOAT || found == SQLITE_INTEGER;
    case 'b':
        return found == SQLITE_BLOB || found == SQLITE_TEXT;
    default:
        return found == SQLITE_TEXT && is_text(row, column, type == 'j');
    }
}

typedef struct copy {
    const table *table;
    sqlite3_stmt *select, *insert;
    sqlite3 *to;
    int64_t key[MOST_KEYS]; /* of the last row that came */
    int64_t rows;
} copy;

static void take_row(copy *c)
{
    const char *types = c->table->types;
    for (int i = 0; types[i] != '\0'; i++)
        if (!fits(c->select, i, types[i]) ||
            (i < c->table->keys && sqlite3_column_type(c->select, i) != SQLITE_INTEGER))
            return;
    for (int i = 0; types[i] != '\0'; i++)
        sqlite3_bind_value(c->insert, i + 1, sqlite3_column_value(c->select, i));
    if (sqlite3_step(c->insert) == SQLITE_DONE)
        c->rows += sqlite3_changes(c->to);
    sqlite3_reset(c->insert);
    sqlite3_clear_bindings(c->insert);
}

/* ---- integer keys ---- */

static void note_key(copy *c)
{
    for (int i = 0; i < c->table->keys; i++)
        c->key[i] = sqlite3_column_int64(c->select, i);
}

static int seek(copy *c, const int64_t *key)
{
    sqlite3_reset(c->select);
    for (int i = 0; i < c->table->keys; i++)
        sqlite3_bind_int64(c->select, i + 1, key[i]);
    return sqlite3_step(c->select);
}

static int seek_at(copy *c, int column, int64_t distance)
{
    int64_t key[MOST_KEYS];
    for (int i = 0; i < c->table->keys; i++)
        key[i] = i < column ? c->key[i] : INT64_MIN;
    if (__builtin_add_overflow(c->key[column], distance, &key[column]))
        return SQLITE_CORRUPT;
    return seek(c, key);
}

static bool is_readable(int code)
{
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* The least distance at which rows come again, when the last key's is refused. */
static int pass_over(copy *c)
{
    for (int column = c->table->keys - 1; column >= 0; column--)
        for (int64_t far = 1; far > 0 && far < INT64_MAX / 2; far *= 2) {
            if (!is_readable(seek_at(c, column, far)))
                continue;
            int64_t near = far / 2;
            while (far - near > 1) {
                const int64_t middle = near + (far - near) / 2;
                if (is_readable(seek_at(c, column, middle)))
                    far = middle;
                else
                    near = middle;
            }
            return seek_at(c, column, far);
        }
    return SQLITE_DONE;
}

static bool copy_by_numbers(copy *c)
{
    const int64_t lowest[MOST_KEYS] = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN };
    for (int i = 0; i < MOST_KEYS; i++)
        c->key[i] = -1;
    int code = seek(c, lowest), gaps = 0;
    while (code != SQLITE_DONE && gaps < MOST_GAPS) {
        if (code == SQLITE_ROW) {
            note_key(c);
            take_row(c);
            code = sqlite3_step(c->select);
        } else {
            gaps++; /* limited: rows of a damaged page may lead back */
            code = pass_over(c);
        }
    }
    return gaps == 0;
}

/* ---- text keys: few rows ---- */

static bool copy_by_names(copy *c, sqlite3 *from)
{
    int code;
    while ((code = sqlite3_step(c->select)) == SQLITE_ROW)
        take_row(c);
    if (code == SQLITE_DONE)
        return true;
    sqlite3_finalize(c->select);
    c->select = new_select(from, c->table, true);
    while (c->select != NULL && sqlite3_step(c->select) == SQLITE_ROW)
        take_row(c);
    return false;
}

int64_t cse_salvage_table(sqlite3 *from, sqlite3 *to, const table *t, bool *incomplete)
{
    copy c = { .table = t, .to = to, .select = new_select(from, t, false) };
    c.insert = new_insert(to, t);
    const bool is_whole = c.select != NULL && c.insert != NULL &&
                          (t->keys > 0 ? copy_by_numbers(&c) : copy_by_names(&c, from));
    *incomplete = *incomplete || !is_whole;
    sqlite3_finalize(c.select);
    sqlite3_finalize(c.insert);
    return c.rows;
}

int64_t cse_salvage_rows(sqlite3 *from, sqlite3 *to, bool *incomplete)
{
    int64_t rows = 0;
    table t;
    sqlite3_exec(to, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int i = 0; (t = table_of(i)).name != NULL; i++)
        rows += cse_salvage_table(from, to, &t, incomplete);
    sqlite3_exec(to, "COMMIT", NULL, NULL, NULL);
    return rows;
}

void cse_salvage_count(sqlite3 *handle, cse_text *text)
{
    table t;
    for (int i = 0; (t = table_of(i)).name != NULL; i++) {
        char sql[64];
        sqlite3_stmt *statement = NULL;
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", t.name);
        if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
            sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int64(statement, 0) > 0)
            cse_text_add(text, "%s%lld %s", text->size > 0 ? ", " : "",
                         (long long)sqlite3_column_int64(statement, 0), t.name);
        sqlite3_finalize(statement);
    }
}
