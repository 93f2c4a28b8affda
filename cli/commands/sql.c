/* `csengine sql`: a question in SQL to the store of a run, or to a server's list of jobs. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"
#include "engine/base/arena.h"
#include "engine/base/escape.h"
#include "store/question.h"

/* Rows that a table for people has at most, and characters of a value that it shows. */
enum { MOST_ROWS = 10000, MOST_CHARACTERS = 60 };

typedef struct answer {
    cse_arena *arena;
    const char **names; /* of the columns, ended by NULL */
    cse_table *table;   /* for people; NULL: rows are printed as they come */
    int64_t rows;
    bool has_more;
} answer;

static void take_columns(void *self, int count, const char *const *names)
{
    answer *a = self;
    a->names = cse_arena_alloc(a->arena, ((size_t)count + 1) * sizeof *a->names);
    for (int i = 0; i < count; i++)
        a->names[i] = cse_arena_string(a->arena, names[i]);
    a->names[count] = NULL;
}

/* With as many digits as give the same number again. */
static void add_real(cse_text *text, double real)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, real);
        if (strtod(digits, NULL) == real)
            break;
    }
    cse_text_add(text, "%s", digits);
}

static void add_hex(cse_text *text, const cse_answer_value *value)
{
    for (size_t i = 0; i < value->size; i++)
        cse_text_add(text, "%02x", (unsigned char)value->bytes[i]);
}

/* As text; nothing for NULL. */
static void add_value(cse_text *text, const cse_answer_value *value)
{
    switch (value->kind) {
    case CSE_ANSWER_INTEGER:
        cse_text_add(text, "%" PRId64, value->integer);
        break;
    case CSE_ANSWER_REAL:
        add_real(text, value->real);
        break;
    case CSE_ANSWER_TEXT:
        cse_text_add(text, "%s", value->bytes);
        break;
    case CSE_ANSWER_BLOB:
        add_hex(text, value);
        break;
    default:
        break;
    }
}

/* ---- CSV ---- */

static void csv_columns(void *self, int count, const char *const *names)
{
    cse_text line = { 0 };
    (void)self;
    for (int i = 0; i < count; i++) {
        cse_text_add(&line, "%s", i > 0 ? "," : "");
        cse_escape_csv(&line, names[i]);
    }
    puts(line.data != NULL ? line.data : "");
    cse_text_clear(&line);
}

static bool csv_row(void *self, int count, const cse_answer_value *values)
{
    cse_text line = { 0 };
    (void)self;
    for (int i = 0; i < count; i++) {
        cse_text field = { 0 };
        add_value(&field, &values[i]);
        cse_text_add(&line, "%s", i > 0 ? "," : "");
        cse_escape_csv(&line, field.data != NULL ? field.data : "");
        cse_text_clear(&field);
    }
    puts(line.data != NULL ? line.data : "");
    cse_text_clear(&line);
    return !ferror(stdout);
}

/* ---- JSON, an object a line ---- */

static json_t *json_of(const cse_answer_value *value)
{
    cse_text hex = { 0 };
    json_t *json;
    switch (value->kind) {
    case CSE_ANSWER_INTEGER:
        return json_integer((json_int_t)value->integer);
    case CSE_ANSWER_REAL:
        return cse_json_finite(value->real);
    case CSE_ANSWER_TEXT:
        return json_stringn(value->bytes, value->size);
    case CSE_ANSWER_BLOB:
        add_hex(&hex, value);
        json = json_string(hex.data != NULL ? hex.data : "");
        cse_text_clear(&hex);
        return json;
    default:
        return json_null();
    }
}

static bool json_row(void *self, int count, const cse_answer_value *values)
{
    const answer *a = self;
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        json_t *value = json_of(&values[i]);
        /* A text that is no UTF-8 is none of JSON. */
        json_object_set_new(object, a->names[i], value != NULL ? value : json_null());
    }
    cse_json_print(object);
    json_decref(object);
    return !ferror(stdout);
}

/* ---- a table for people ---- */

static void table_columns(void *self, int count, const char *const *names)
{
    answer *a = self;
    take_columns(self, count, names);
    a->table = cse_table_new(a->names);
}

/* A longer text is cut behind a whole character of UTF-8. */
static void cut(cse_text *text)
{
    int characters = 0;
    for (size_t i = 0; i < text->size; i++) {
        characters += ((unsigned char)text->data[i] & 0xc0) != 0x80;
        if (characters > MOST_CHARACTERS) {
            text->size = i;
            cse_text_add(text, "...");
            return;
        }
    }
}

static bool table_row(void *self, int count, const cse_answer_value *values)
{
    answer *a = self;
    a->has_more = a->rows == MOST_ROWS;
    if (a->has_more)
        return false;
    for (int i = 0; i < count; i++) {
        cse_text cell = { 0 };
        add_value(&cell, &values[i]);
        cut(&cell);
        cse_table_add(a->table, "%s", cell.data != NULL ? cell.data : "");
        cse_text_clear(&cell);
    }
    a->rows++;
    return true;
}

static void print_table(const answer *a)
{
    cse_table_print(a->table, stdout);
    if (a->has_more)
        fprintf(stderr, "csengine: there are more rows than %d: --format csv shows all\n",
                MOST_ROWS);
}

/* ---- the command ---- */

static int run(const cse_command_line *line)
{
    const char *format = cse_option_value(line, "format");
    if (cse_option_is_on(line, "json"))
        format = "json";
    if (format != NULL && strcmp(format, "table") != 0 && strcmp(format, "csv") != 0 &&
        strcmp(format, "json") != 0)
        return cse_report(
            cse_fail(CSE_USAGE, "--format %s: accepted are table, csv and json", format));
    answer a = { .arena = cse_arena_new() };
    cse_question question = { .folder = line->arguments[0],
                              .sql = line->arguments[1],
                              .columns = table_columns,
                              .row = table_row,
                              .self = &a };
    const bool is_table = format == NULL || strcmp(format, "table") == 0;
    if (!is_table && strcmp(format, "csv") == 0) {
        question.columns = csv_columns;
        question.row = csv_row;
    } else if (!is_table) {
        question.columns = take_columns;
        question.row = json_row;
    }
    cse_status status = cse_store_ask(&question);
    if (status == CSE_OK && is_table)
        print_table(&a);
    cse_table_destroy(&a.table);
    cse_arena_destroy(&a.arena);
    return cse_report(status);
}

static const cse_option options[] = {
    { "format", "FORMAT", NULL, "table (default), csv, json (an object a line)" },
    { "json", NULL, NULL, "the same as --format json" },
    { 0 },
};

const cse_command cse_command_sql = {
    .name = "sql",
    .group = CSE_GROUP_LOOK,
    .summary = "asks the store of a run, or a server's list of jobs, in SQL",
    .arguments = "RUN|ROOT SELECT",
    .doc =
        "RUN is a model_dir (its run.db), ROOT the --root of a server (its jobs.db). One\n"
        "statement of SQLite that reads; it may be asked while the run goes on. Bytes are shown\n"
        "as hexadecimal digits. docs/run_store.md describes the tables of a run.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .values = "format=table|csv|json",
    .run = run,
};
