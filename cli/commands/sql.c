/* `csengine sql`: a question in SQL to the store of a run, or to a server's list of jobs. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/chat/characters.h"
#include "engine/base/arena.h"
#include "engine/base/escape.h"
#include "store/question.h"

/* Rows that a table for people has at most, and columns of a value that it shows. */
enum { MOST_ROWS = 10000, MOST_WIDTH = 60 };

typedef struct answer {
    char **names;
    int count;
    int64_t rows;
    cse_arena *arena; /* of the names and of a table's cells */
    char **cells;     /* of a table: [rows][count] */
    bool has_more;
} answer;

static void take_columns(void *self, int count, const char *const *names)
{
    answer *a = self;
    a->count = count;
    a->names = cse_arena_alloc(a->arena, (size_t)count * sizeof *a->names);
    for (int i = 0; i < count; i++)
        a->names[i] = cse_arena_string(a->arena, names[i]);
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

/* On one line. */
static char *printable(cse_arena *arena, const char *text)
{
    char *copy = cse_arena_string(arena, text), *shown;
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\n' || *c == '\t' || *c == '\r')
            *c = ' ';
    const size_t size = cse_text_printable(copy, NULL, 0) + 1;
    shown = cse_arena_alloc(arena, size);
    cse_text_printable(copy, shown, size);
    return shown;
}

static bool table_row(void *self, int count, const cse_answer_value *values)
{
    answer *a = self;
    a->has_more = a->rows == MOST_ROWS;
    if (a->has_more)
        return false;
    a->cells = cse_realloc(a->cells, (size_t)(a->rows + 1) * (size_t)count * sizeof *a->cells);
    for (int i = 0; i < count; i++) {
        cse_text cell = { 0 };
        add_value(&cell, &values[i]);
        a->cells[a->rows * count + i] = printable(a->arena, cell.data != NULL ? cell.data : "");
        cse_text_clear(&cell);
    }
    a->rows++;
    return true;
}

static int width_of(const char *text)
{
    const size_t width = cse_characters_count(text, strlen(text));
    return width < MOST_WIDTH ? (int)width : MOST_WIDTH;
}

/* A longer one is cut, and ends in "...". */
static void print_cell(const char *text, int width, bool is_last)
{
    const size_t size = strlen(text);
    int shown = (int)cse_characters_count(text, size);
    if (shown > width) {
        const size_t kept = cse_characters_offset(text, size, (size_t)width - 3);
        printf("%.*s...", (int)kept, text);
        shown = width;
    } else
        printf("%s", text);
    printf("%*s", is_last ? 0 : width - shown + 2, "");
}

static void print_line(const answer *a, char *const *cells, const int *widths)
{
    for (int i = 0; i < a->count; i++)
        print_cell(cells[i], widths[i], i + 1 == a->count);
    putchar('\n');
}

static void print_table(const answer *a)
{
    int *widths = cse_calloc((size_t)a->count, sizeof *widths);
    for (int i = 0; i < a->count; i++) {
        widths[i] = width_of(a->names[i]) > 3 ? width_of(a->names[i]) : 3;
        for (int64_t r = 0; r < a->rows; r++)
            if (width_of(a->cells[r * a->count + i]) > widths[i])
                widths[i] = width_of(a->cells[r * a->count + i]);
    }
    print_line(a, a->names, widths);
    for (int64_t r = 0; r < a->rows; r++)
        print_line(a, a->cells + r * a->count, widths);
    free(widths);
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
                              .columns = take_columns,
                              .row = table_row,
                              .self = &a };
    const bool is_table = format == NULL || strcmp(format, "table") == 0;
    if (!is_table && strcmp(format, "csv") == 0) {
        question.columns = csv_columns;
        question.row = csv_row;
    } else if (!is_table)
        question.row = json_row;
    cse_status status = cse_store_ask(&question);
    if (status == CSE_OK && is_table)
        print_table(&a);
    free(a.cells);
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
