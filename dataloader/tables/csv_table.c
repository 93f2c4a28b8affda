/* One pass over the fields of the text, of which each becomes a number. */
#include "dataloader/tables/csv_table.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "csengine/input.h"
#include "dataloader/tables/csv_text.h"
#include "engine/base/arena.h"

enum { EXACT_DIGITS = 15 };

/* What a column of features has been so far. */
enum { HAS_NUMBERS = 1, HAS_BOOLEANS = 2 };

typedef struct parser {
    cse_csv_text text;
    const cse_csv_options *options;
    cse_csv_table *table;
    locale_t c_locale; /* the decimal point is a point in any locale of the process */
    cse_csv_use *uses;
    unsigned char *kinds; /* [column] */
    int64_t column;       /* of the field, counted from 0 */
    bool row_is_missing;  /* a value of this row is, and such rows are left out */
} parser;

/* ---- refusals ---- */

/* " in column "x"", where the header names it. */
static const char *column_words(const parser *p, char *words, size_t size)
{
    const cse_csv_table *table = p->table;
    words[0] = '\0';
    if (table->names != NULL && p->column < table->columns)
        snprintf(words, size, " in column \"%s\"", table->names[p->column]);
    return words;
}

/* What to do about a field that is no number. */
static const char *number_hint(const parser *p)
{
    const char *field = p->text.field, *comma = strchr(field, ',');
    if (comma != NULL && field[strspn(field, "+-,.0123456789")] == '\0')
        return comma == strrchr(field, ',')
                   ? "set decimal: \",\" where a comma is the decimal separator; separators of "
                     "thousands are not accepted"
                   : "separators of thousands are not accepted";
    if (strpbrk(field, ",;\t|") != NULL)
        return "set delimiter to the character between the fields of this file";
    if (p->text.field_line == 1 && p->table->names == NULL)
        return "if this line names the columns, set header: true; if it is data, set class_names "
               "where classes are words";
    return "set class_names where classes are words, and features to the columns that hold numbers";
}

static cse_status not_a_number(const parser *p)
{
    char words[CSE_CSV_FIELD_BYTES + 32];
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64
                    ": \"%s\"%s is not a number: accepted are decimal numbers such as -1.5e3; %s",
                    p->text.path, p->text.field_line, p->text.field_column, p->text.field,
                    column_words(p, words, sizeof words), number_hint(p));
}

static cse_status does_not_fit(const parser *p)
{
    char words[CSE_CSV_FIELD_BYTES + 32];
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64
                    ": %s%s does not fit in float32: accepted are sizes up to 3.4e38",
                    p->text.path, p->text.field_line, p->text.field_column, p->text.field,
                    column_words(p, words, sizeof words));
}

/* A file whose lines all end with a delimiter has a last column without name and values. */
static cse_status refuse_missing(const parser *p)
{
    char words[CSE_CSV_FIELD_BYTES + 32];
    const cse_csv_table *table = p->table;
    const bool is_answer = p->uses[p->column] != CSE_CSV_FEATURE;
    const char *hint = CSE_MISSING_HINT;
    if (p->text.field[0] == '\0' && table->names != NULL && p->column == table->columns - 1 &&
        table->names[p->column][0] == '\0')
        hint = "if each line ends with a delimiter, take it away, or name the columns that are "
               "used with features";
    else if (is_answer)
        hint = "the answer of a sample must be there; missing_values: drop leaves such samples out";
    return cse_fail(CSE_DATA, "%s:%" PRId64 ":%" PRId64 ": the field is %s%s%s: %s", p->text.path,
                    p->text.field_line, p->text.field_column,
                    p->text.field[0] == '\0' ? "empty" : p->text.field,
                    p->text.field[0] == '\0' ? "" : ", which is no value",
                    column_words(p, words, sizeof words), hint);
}

static cse_status wrong_field_count(const parser *p, int64_t found, int64_t expected)
{
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64 ": the line has %s%" PRId64
                    " fields, expected %" PRId64 " as in the first line",
                    p->text.path, p->text.field_line, p->text.field_column,
                    found > expected ? "more than " : "", found > expected ? expected : found,
                    expected);
}

/* ---- a field ---- */

/* What pandas takes for a value that is not there, infinities aside. */
static bool is_missing(const char *field)
{
    static const char *const words[] = {
        "",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
        "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
        "NaN",  "None",   "n/a",      "nan",  "null",
    };
    if (field[0] >= '0' && field[0] <= '9' && strchr(field, '#') == NULL)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(field, words[i]) == 0)
            return true;
    return false;
}

static bool is_infinity(const char *field)
{
    field += *field == '+' || *field == '-';
    return strcasecmp(field, "inf") == 0 || strcasecmp(field, "infinity") == 0;
}

static bool is_boolean(const char *field, double *value)
{
    static const char *const words[] = { "False", "True", "false", "true", "FALSE", "TRUE" };
    for (int i = 0; i < 6; i++)
        if (strcmp(field, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    return false;
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

/* The decimal separator becomes a point; a point that is there is then none. */
static bool use_point(char *field, char decimal)
{
    char *comma = strchr(field, decimal);
    if (decimal == '.')
        return true;
    if (strchr(field, '.') != NULL || (comma != NULL && strchr(comma + 1, decimal) != NULL))
        return false;
    if (comma != NULL)
        *comma = '.';
    return true;
}

/* Counts whole numbers that float32 rounds, those with more digits than a double has, too. */
static void note_rounded(parser *p, double value)
{
    const char *digits = p->text.field + strspn(p->text.field, "+-");
    const size_t count = strspn(digits, "0123456789");
    if (digits[count] != '\0' || p->uses[p->column] != CSE_CSV_FEATURE)
        return;
    const bool is_exact =
        (double)(float)value == value &&
        (count <= EXACT_DIGITS || strtold(digits, NULL) == fabsl((long double)value));
    if (is_exact)
        return;
    if (p->table->rounded++ == 0) {
        p->table->rounded_line = p->text.field_line;
        p->table->rounded_column = p->column;
    }
}

static cse_status take_number(parser *p, double *value)
{
    char number[CSE_CSV_FIELD_BYTES];
    char *stop = NULL;
    if (short_whole_number(p->text.field, value)) {
        if (*value > (1 << 24))
            note_rounded(p, *value);
        return CSE_OK;
    }
    memcpy(number, p->text.field, sizeof number);
    /* With these characters only, strtod accepts no hexadecimal, infinity or NaN. */
    if (use_point(number, p->options->decimal) && number[strspn(number, "+-.0123456789eE")] == '\0')
        *value = strtod_l(number, &stop, p->c_locale);
    if (stop == NULL || stop == number || *stop != '\0')
        return not_a_number(p);
    if (!isfinite((float)*value))
        return does_not_fit(p);
    note_rounded(p, *value);
    return CSE_OK;
}

static cse_status take_boolean(parser *p, double *value)
{
    const bool boolean = is_boolean(p->text.field, value);
    unsigned char *kind = &p->kinds[p->column];
    *kind |= boolean ? HAS_BOOLEANS : HAS_NUMBERS;
    if (*kind == (HAS_BOOLEANS | HAS_NUMBERS))
        return cse_csv_text_wrong(&p->text,
                                  "the column has both numbers and True or False: accepted are "
                                  "either");
    return boolean ? CSE_OK : take_number(p, value);
}

static cse_status take_word(const parser *p, double *value)
{
    for (int i = 0; i < p->options->word_count; i++)
        if (strcmp(p->options->words[i], p->text.field) == 0) {
            *value = i;
            return CSE_OK;
        }
    return cse_fail(CSE_DATA,
                    "%s:%" PRId64 ":%" PRId64 ": \"%s\" is none of the %d class names: add it, or "
                    "leave the line out",
                    p->text.path, p->text.field_line, p->text.field_column, p->text.field,
                    p->options->word_count);
}

static cse_status take_missing(parser *p, double *value)
{
    *value = NAN;
    if (p->options->may_lack_answers && p->uses[p->column] != CSE_CSV_FEATURE)
        return CSE_OK;
    if (p->options->missing == CSE_MISSING_DROPPED) {
        p->row_is_missing = true;
        return CSE_OK;
    }
    if (p->options->missing == CSE_MISSING_FILLED && p->uses[p->column] == CSE_CSV_FEATURE)
        return CSE_OK;
    return refuse_missing(p);
}

static bool is_listed(const cse_csv_options *options, const char *field)
{
    for (int i = 0; i < options->word_count; i++)
        if (strcmp(options->words[i], field) == 0)
            return true;
    return false;
}

static cse_status take_value(parser *p, double *value)
{
    const char *field = p->text.field;
    const cse_csv_use use = p->uses[p->column];
    if (use == CSE_CSV_PASSED)
        return CSE_OK;
    if (p->text.too_long)
        return cse_csv_text_wrong(&p->text, "a field is longer than 255 characters: is the "
                                            "delimiter right?");
    if (use == CSE_CSV_WORDS)
        return is_missing(field) && !is_listed(p->options, field) ? take_missing(p, value)
                                                                  : take_word(p, value);
    return is_missing(field) || is_infinity(field) ? take_missing(p, value)
                                                   : take_boolean(p, value);
}

/* ---- the table ---- */

static cse_status refuse_same_names(const parser *p)
{
    const cse_csv_table *table = p->table;
    for (int64_t i = 0; i < table->columns; i++)
        for (int64_t j = 0; j < i && table->names[i][0] != '\0'; j++)
            if (strcmp(table->names[i], table->names[j]) == 0)
                return cse_fail(CSE_DATA,
                                "%s:1: columns %" PRId64 " and %" PRId64
                                " are both named \"%s\": rename one",
                                p->text.path, j, i, table->names[i]);
    return CSE_OK;
}

/* A line of numbers that are not 0, 1, 2, ... is data rather than names. */
static cse_status refuse_numbers_as_names(const parser *p)
{
    double value;
    bool counts = true;
    const cse_csv_table *table = p->table;
    for (int64_t i = 0; i < table->columns; i++) {
        const char *name = table->names[i];
        if (name[0] == '\0' || name[strspn(name, "+-.0123456789eE")] != '\0' ||
            strpbrk(name, "0123456789") == NULL)
            return CSE_OK;
        counts = counts && short_whole_number(name, &value) && value == (double)i;
    }
    return counts
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s:1: this line should name the columns, but holds numbers alone: set "
                          "header: false if it is data",
                          p->text.path);
}

static cse_status read_header(parser *p)
{
    int64_t capacity = 0;
    cse_csv_table *table = p->table;
    do {
        CSE_TRY(cse_csv_text_take(&p->text));
        CSE_GROW(table->names, table->columns, capacity);
        table->names[table->columns++] = cse_strdup(p->text.field);
    } while (!p->text.line_ends);
    cse_csv_text_next_line(&p->text);
    CSE_TRY(refuse_same_names(p));
    return refuse_numbers_as_names(p);
}

/* As many columns as the first line has. */
static cse_status count_columns(parser *p)
{
    const cse_csv_text begin = p->text;
    do {
        CSE_TRY(cse_csv_text_take(&p->text));
        p->table->columns++;
    } while (!p->text.line_ends);
    p->text = begin;
    return CSE_OK;
}

/* One line; a row where values are missing may leave nothing. */
static cse_status read_row(parser *p, double *values)
{
    const int64_t columns = p->table->columns;
    int64_t found = 0;
    p->row_is_missing = false;
    do {
        CSE_TRY(cse_csv_text_take(&p->text));
        if (p->text.line_ends && found == 0 && p->text.field[0] == '\0' && columns > 1)
            return cse_csv_text_wrong(&p->text,
                                      "the line is empty: only the end of the file may follow it");
        if (found == columns)
            return wrong_field_count(p, found + 1, columns);
        p->column = found++;
        values[p->column] = 0;
        CSE_TRY(take_value(p, &values[p->column]));
    } while (!p->text.line_ends);
    return found == columns ? CSE_OK : wrong_field_count(p, found, columns);
}

static cse_status read_rows(parser *p)
{
    cse_csv_table *table = p->table;
    int64_t capacity = 0;
    while (!cse_csv_text_ended(&p->text)) {
        const int64_t line = p->text.line;
        if (table->rows == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 64;
            const size_t row_bytes = (size_t)table->columns * sizeof *table->values;
            table->values = cse_realloc(table->values, (size_t)capacity * row_bytes);
            table->lines = cse_realloc(table->lines, (size_t)capacity * sizeof *table->lines);
        }
        table->lines[table->rows] = line;
        CSE_TRY(read_row(p, table->values + table->rows * table->columns));
        table->dropped += p->row_is_missing;
        table->rows += !p->row_is_missing;
        cse_csv_text_next_line(&p->text);
    }
    if (table->rows == 0 && table->dropped == 0)
        return cse_fail(CSE_DATA, "%s: the file has no line of numbers", p->text.path);
    return cse_missing_values_told(p->text.path, table->dropped, table->rows);
}

static cse_status read_table(parser *p, const char *bytes, size_t size)
{
    CSE_TRY(cse_csv_text_begin(&p->text, bytes, size));
    if (p->options->header && !cse_csv_text_ended(&p->text))
        CSE_TRY(read_header(p));
    if (cse_csv_text_ended(&p->text))
        return cse_fail(CSE_DATA, "%s: the file has no line of numbers", p->text.path);
    if (p->table->columns == 0)
        CSE_TRY(count_columns(p));
    p->uses = cse_calloc((size_t)p->table->columns, sizeof *p->uses);
    p->kinds = cse_calloc((size_t)p->table->columns, sizeof *p->kinds);
    if (p->options->choose != NULL)
        CSE_TRY(p->options->choose(p->options->self, p->table, p->uses));
    return read_rows(p);
}

static cse_status read_in_c_locale(parser *p, const char *bytes, size_t size)
{
    p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (p->c_locale == (locale_t)0)
        return cse_fail(CSE_TEMPORARY, "%s: no memory for a locale to read numbers with",
                        p->text.path);
    cse_status status = read_table(p, bytes, size);
    freelocale(p->c_locale);
    free(p->uses);
    free(p->kinds);
    return status;
}

cse_status cse_csv_table_read(const char *path, const cse_csv_options *options,
                              cse_csv_table *table)
{
    parser p = { .text = { .path = path, .delimiter = options->delimiter },
                 .options = options,
                 .table = table };
    cse_byte_source *source;
    unsigned char *bytes = NULL;
    size_t size = 0;
    *table = (cse_csv_table){ 0 };
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status = cse_byte_source_take(source, SIZE_MAX / 4, &bytes, &size);
    cse_byte_source_close(&source);
    if (status == CSE_OK)
        status = read_in_c_locale(&p, size > 0 ? (const char *)bytes : "", size);
    free(bytes);
    if (status != CSE_OK)
        cse_csv_table_clear(table);
    return status;
}

cse_status cse_csv_table_load(const char *path, char delimiter, bool header, cse_csv_table *table)
{
    const cse_csv_options options = { .delimiter = delimiter, .decimal = '.', .header = header };
    return cse_csv_table_read(path, &options, table);
}

void cse_csv_table_clear(cse_csv_table *table)
{
    for (int64_t i = 0; table->names != NULL && i < table->columns; i++)
        free(table->names[i]);
    free(table->names);
    free(table->values);
    free(table->lines);
    *table = (cse_csv_table){ 0 };
}

int64_t cse_csv_table_find(const cse_csv_table *table, const char *name)
{
    for (int64_t i = 0; table->names != NULL && i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0)
            return i;
    const bool backwards = name[0] == '-';
    const size_t digits = strspn(name + backwards, "0123456789");
    if (digits == 0 || digits > 9 || name[backwards + digits] != '\0')
        return -1;
    const int64_t number = atoi(name + backwards);
    const int64_t column = backwards ? table->columns - number : number;
    return column >= 0 && column < table->columns ? column : -1;
}
