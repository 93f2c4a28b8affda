/* One pass over the text: reads field after field and converts each to a number. */
#include "dataloader/csv_table.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/input.h"
#include "engine/base/arena.h"

enum { FIELD_BYTES = 256, EXACT_DIGITS = 15 };

typedef struct parser {
    const char *path;
    char delimiter;
    locale_t c_locale; /* the decimal point is a point in any locale of the process */
    const char *cursor, *end, *line_start;
    int64_t line;
    char field[FIELD_BYTES]; /* the field that was taken last, printable */
    int64_t field_column;    /* where it begins, counted from 1 */
    bool line_ends;          /* that field was the last of its line */
    int64_t column;          /* its number in the line, counted from 0 */
    const cse_csv_table *table;
    const cse_csv_words *words; /* may be NULL */
    int64_t word_column;        /* -1: none */
} parser;

static bool is_blank(const parser *p, char c)
{
    return (c == ' ' || c == '\t') && c != p->delimiter;
}

static bool at_line_end(const parser *p)
{
    return p->cursor == p->end || *p->cursor == '\n' ||
           (*p->cursor == '\r' && p->cursor + 1 < p->end && p->cursor[1] == '\n');
}

static cse_status wrong(const parser *p, const char *what)
{
    return cse_fail(CSE_DATA, "%s:%" PRId64 ":%" PRId64 ": %s", p->path, p->line, p->field_column,
                    what);
}

static void put(parser *p, size_t *length, char c)
{
    if (*length < FIELD_BYTES)
        p->field[*length] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
    ++*length;
}

static cse_status take_quoted(parser *p, size_t *length)
{
    for (p->cursor++;; p->cursor++) {
        if (at_line_end(p))
            return wrong(p, "a quoted field has no closing quote on its line");
        if (*p->cursor == '"') {
            if (p->cursor + 1 == p->end || p->cursor[1] != '"')
                break;
            p->cursor++;
        }
        put(p, length, *p->cursor);
    }
    p->cursor++;
    return CSE_OK;
}

/* Reads the field at the cursor and the delimiter or line end after it. */
static cse_status take_field(parser *p)
{
    size_t length = 0;
    while (!at_line_end(p) && is_blank(p, *p->cursor))
        p->cursor++;
    p->field_column = p->cursor - p->line_start + 1;
    if (!at_line_end(p) && *p->cursor == '"') {
        CSE_TRY(take_quoted(p, &length));
    } else {
        const char *start = p->cursor;
        while (!at_line_end(p) && *p->cursor != p->delimiter)
            p->cursor++;
        const char *stop = p->cursor;
        while (stop > start && is_blank(p, stop[-1]))
            stop--;
        while (start < stop)
            put(p, &length, *start++);
    }
    if (length >= FIELD_BYTES)
        return wrong(p, "a field is longer than 255 characters: is the delimiter right?");
    p->field[length] = '\0';
    while (!at_line_end(p) && is_blank(p, *p->cursor))
        p->cursor++;
    p->line_ends = at_line_end(p);
    if (!p->line_ends && *p->cursor != p->delimiter)
        return wrong(p, "text follows the closing quote of a field");
    if (!p->line_ends)
        p->cursor++;
    return CSE_OK;
}

static void next_line(parser *p)
{
    if (p->cursor < p->end && *p->cursor == '\r')
        p->cursor++;
    if (p->cursor < p->end)
        p->cursor++;
    p->line_start = p->cursor;
    p->line++;
}

/* Short whole numbers, such as pixels and labels, are exact without strtod. */
static bool short_whole_number(const char *text, double *value)
{
    int64_t whole = 0;
    int digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < EXACT_DIGITS; text++, digits++)
        whole = whole * 10 + (*text - '0');
    *value = (double)whole;
    return digits > 0 && *text == '\0';
}

/* What to do about a field that is no number. */
static const char *number_hint(const parser *p)
{
    const char *comma = strchr(p->field, ',');
    if (comma != NULL && comma == strrchr(p->field, ',') &&
        p->field[strspn(p->field, "+-,0123456789")] == '\0')
        return "the decimal separator is a point, not a comma";
    if (strpbrk(p->field, ",;\t|") != NULL)
        return "set delimiter to the character between the fields of this file";
    if (p->line == 1 && p->table->names == NULL)
        return "if this line names the columns, set header: true; if it is data, set class_names "
               "where classes are words";
    return "set class_names where classes are words, and leave out columns of text and rows with "
           "missing values";
}

static cse_status not_a_number(const parser *p)
{
    const cse_csv_table *table = p->table;
    bool named = table->names != NULL && p->column < table->columns;
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64
                    ": \"%s\"%s%s%s is not a number: accepted are decimal "
                    "numbers such as -1.5e3; %s",
                    p->path, p->line, p->field_column, p->field, named ? " in column \"" : "",
                    named ? table->names[p->column] : "", named ? "\"" : "", number_hint(p));
}

static cse_status field_number(const parser *p, double *value)
{
    char *stop = NULL;
    if (p->field[0] == '\0')
        return wrong(p, "the field is empty: every field needs a number");
    if (short_whole_number(p->field, value))
        return CSE_OK;
    /* With these characters only, strtod accepts no hexadecimal, infinity or NaN. */
    if (p->field[strspn(p->field, "+-.0123456789eE")] == '\0')
        *value = strtod_l(p->field, &stop, p->c_locale);
    if (stop == NULL || stop == p->field || *stop != '\0')
        return not_a_number(p);
    if (!isfinite((float)*value))
        return cse_fail(CSE_DATA,
                        "%s:%" PRId64 ":%" PRId64
                        ": %s does not fit in float32: accepted are sizes up to 3.4e38",
                        p->path, p->line, p->field_column, p->field);
    return CSE_OK;
}

static cse_status field_word(const parser *p, double *value)
{
    for (int i = 0; i < p->words->count; i++)
        if (strcmp(p->words->words[i], p->field) == 0) {
            *value = i;
            return CSE_OK;
        }
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64 ": \"%s\" is none of the %d class names: add it, or "
                    "leave the line out",
                    p->path, p->line, p->field_column, p->field, p->words->count);
}

/* By its name, else by its number. */
static void find_word_column(parser *p)
{
    const char *column = p->words->column;
    const cse_csv_table *table = p->table;
    for (int64_t i = 0; table->names != NULL && i < table->columns && p->word_column < 0; i++)
        if (strcmp(table->names[i], column) == 0)
            p->word_column = i;
    const size_t digits = strspn(column, "0123456789");
    if (p->word_column < 0 && digits > 0 && digits < 10 && column[digits] == '\0')
        p->word_column = atoi(column);
}

static cse_status wrong_field_count(const parser *p, int64_t found, int64_t expected)
{
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64 ": the line has %s%" PRId64
                    " fields, expected %" PRId64 " as in the first line",
                    p->path, p->line, p->field_column, found > expected ? "more than " : "",
                    found > expected ? expected : found, expected);
}

static cse_status read_header(parser *p, cse_csv_table *table)
{
    int64_t capacity = 0;
    do {
        CSE_TRY(take_field(p));
        CSE_GROW(table->names, table->columns, capacity);
        table->names[table->columns++] = cse_strdup(p->field);
    } while (!p->line_ends);
    next_line(p);
    return CSE_OK;
}

static cse_status read_rows(parser *p, cse_csv_table *table)
{
    int64_t count = 0, capacity = 0;
    table->first_line = p->line;
    for (; p->cursor < p->end; next_line(p), table->rows++) {
        int64_t columns = 0;
        do {
            CSE_TRY(take_field(p));
            if (p->line_ends && columns == 0 && p->field[0] == '\0')
                return wrong(p, "the line is empty: only the end of the file may follow it");
            CSE_GROW(table->values, count, capacity);
            if (table->columns > 0 && columns == table->columns)
                return wrong_field_count(p, columns + 1, table->columns);
            p->column = columns++;
            CSE_TRY(p->column == p->word_column ? field_word(p, &table->values[count])
                                                : field_number(p, &table->values[count]));
            count++;
        } while (!p->line_ends);
        if (table->columns == 0)
            table->columns = columns;
        if (columns != table->columns)
            return wrong_field_count(p, columns, table->columns);
    }
    if (table->rows == 0)
        return cse_fail(CSE_DATA, "%s: the file has no line of numbers", p->path);
    return CSE_OK;
}

static cse_status read_table(parser *p, const char *text, size_t size, bool header,
                             cse_csv_table *table)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    p->cursor = text;
    p->end = text + size;
    if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        p->cursor += 3;
    p->line_start = p->cursor;
    p->line = 1;
    p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (p->c_locale == (locale_t)0)
        return cse_fail(CSE_TEMPORARY, "%s: no memory for a locale to read numbers with", p->path);
    cse_status status = header && p->cursor < p->end ? read_header(p, table) : CSE_OK;
    if (status == CSE_OK && p->words != NULL)
        find_word_column(p);
    if (status == CSE_OK)
        status = read_rows(p, table);
    freelocale(p->c_locale);
    return status;
}

cse_status cse_csv_table_load(const char *path, char delimiter, bool header, cse_csv_table *table)
{
    return cse_csv_table_load_words(path, delimiter, header, NULL, table);
}

cse_status cse_csv_table_load_words(const char *path, char delimiter, bool header,
                                    const cse_csv_words *words, cse_csv_table *table)
{
    parser p = {
        .path = path, .delimiter = delimiter, .table = table, .words = words, .word_column = -1
    };
    cse_byte_source *source;
    unsigned char *bytes = NULL;
    size_t size = 0;
    *table = (cse_csv_table){ 0 };
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status = cse_byte_source_take(source, SIZE_MAX / 4, &bytes, &size);
    cse_byte_source_close(&source);
    if (status == CSE_OK)
        status = read_table(&p, (const char *)bytes, size, header, table);
    free(bytes);
    if (status != CSE_OK)
        cse_csv_table_clear(table);
    return status;
}

void cse_csv_table_clear(cse_csv_table *table)
{
    for (int64_t i = 0; table->names != NULL && i < table->columns; i++)
        free(table->names[i]);
    free(table->names);
    free(table->values);
    *table = (cse_csv_table){ 0 };
}
