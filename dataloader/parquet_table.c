/* Cells of the Arrow that is made of it (parquet_file.h), or that the file is already. */
#include "dataloader/parquet_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "csengine/input.h"
#include "dataloader/arrow_file.h"
#include "dataloader/file_list.h"
#include "dataloader/parquet_file.h"
#include "engine/base/arena.h"
#include "engine/base/types/shape.h"

enum { MOST_WORD = 255 };

typedef struct reading {
    const cse_csv_options *options;
    cse_csv_table *table;
    cse_file_pool *pool;
    cse_csv_use *uses;
    int64_t capacity;
    /* of the file that is read */
    cse_arrow_file file;
    const char *path;
    int *at; /* [column] */
} reading;

static cse_status wrong(const reading *r, cse_arrow_cell cell, const char *what, const char *hint)
{
    return cse_fail(CSE_DATA, "%s: row %" PRId64 ", column \"%s\": %s%s%s", r->path, cell.row,
                    r->file.columns[cell.column].name, what, hint[0] != '\0' ? ": " : "", hint);
}

/* ---- columns ---- */

static cse_status take_names(reading *r)
{
    cse_csv_table *table = r->table;
    table->columns = r->file.column_count;
    table->names = cse_calloc((size_t)table->columns + 1, sizeof *table->names);
    for (int64_t i = 0; i < table->columns; i++)
        table->names[i] = cse_strdup(r->file.columns[i].name);
    r->uses = cse_calloc((size_t)table->columns + 1, sizeof *r->uses);
    r->at = cse_calloc((size_t)table->columns + 1, sizeof *r->at);
    return r->options->choose != NULL ? r->options->choose(r->options->self, table, r->uses)
                                      : CSE_OK;
}

static cse_status check_column(const reading *r, int64_t i)
{
    const char *name = r->table->names[i];
    if (r->at[i] < 0)
        return cse_fail(CSE_DATA, "%s: it has no column \"%s\", as the first file has", r->path,
                        name);
    const cse_arrow_column *c = &r->file.columns[r->at[i]];
    const bool is_number = c->kind == CSE_ARROW_NUMBERS && cse_shape_elements(c->shape) == 1;
    if (r->uses[i] == CSE_CSV_WORDS ? c->kind == CSE_ARROW_TEXT : is_number)
        return CSE_OK;
    if (r->uses[i] == CSE_CSV_WORDS)
        return cse_fail(CSE_DATA,
                        "%s: column \"%s\" holds no words: leave class_names out where classes are "
                        "numbers",
                        r->path, name);
    return cse_fail(CSE_DATA, "%s: column \"%s\" holds %s: %s", r->path, name,
                    c->kind == CSE_ARROW_TEXT    ? "texts"
                    : c->kind == CSE_ARROW_OTHER ? "values that are neither numbers nor texts"
                                                 : "lists",
                    r->uses[i] == CSE_CSV_ANSWER
                        ? "set class_names where classes are words"
                        : "name the columns of single numbers with features");
}

static cse_status find_columns(reading *r)
{
    for (int64_t i = 0; i < r->table->columns; i++) {
        r->at[i] = cse_arrow_find(&r->file, r->table->names[i]);
        if (r->uses[i] != CSE_CSV_PASSED)
            CSE_TRY(check_column(r, i));
    }
    return CSE_OK;
}

/* ---- cells ---- */

static cse_status take_missing(const reading *r, cse_arrow_cell cell, cse_csv_use use,
                               double *value, bool *row_is_missing)
{
    const char *what = isnan(*value) ? "it is null or NaN" : "it is infinite";
    *value = (double)NAN;
    if (r->options->may_lack_answers && use != CSE_CSV_FEATURE)
        return CSE_OK;
    if (r->options->missing == CSE_MISSING_DROPPED) {
        *row_is_missing = true;
        return CSE_OK;
    }
    if (r->options->missing == CSE_MISSING_FILLED && use == CSE_CSV_FEATURE)
        return CSE_OK;
    return wrong(r, cell, what,
                 use == CSE_CSV_FEATURE ? CSE_MISSING_HINT
                                        : "the answer of a sample must be there; missing_values: "
                                          "drop leaves such samples out");
}

static cse_status take_word(const reading *r, cse_arrow_cell cell, double *value,
                            bool *row_is_missing)
{
    int64_t bytes;
    bool null;
    char word[MOST_WORD + 1];
    *value = (double)NAN;
    CSE_TRY(cse_arrow_is_null(&r->file, cell, &null));
    if (null)
        return take_missing(r, cell, CSE_CSV_WORDS, value, row_is_missing);
    CSE_TRY(cse_arrow_length(&r->file, cell, &bytes));
    if (bytes > MOST_WORD)
        return wrong(r, cell, "it is a text of more than 255 bytes", "");
    CSE_TRY(cse_arrow_read_text(&r->file, cell, bytes, word));
    word[bytes] = '\0';
    for (int i = 0; i < r->options->word_count; i++)
        if (strcmp(r->options->words[i], word) == 0) {
            *value = i;
            return CSE_OK;
        }
    return cse_fail(CSE_DATA,
                    "%s: row %" PRId64 ", column \"%s\": \"%s\" is none of the %d class names: add "
                    "it, or leave the row out",
                    r->path, cell.row, r->file.columns[cell.column].name, word,
                    r->options->word_count);
}

static cse_status take_cell(const reading *r, int64_t row, int64_t i, double *value,
                            bool *row_is_missing)
{
    cse_arrow_number number;
    cse_csv_table *table = r->table;
    const cse_arrow_cell cell = { r->at[i], row };
    if (r->uses[i] == CSE_CSV_WORDS)
        return take_word(r, cell, value, row_is_missing);
    CSE_TRY(cse_arrow_read_number(&r->file, cell, &number));
    *value = number.value;
    if (!isfinite(*value))
        return take_missing(r, cell, r->uses[i], value, row_is_missing);
    if (!isfinite((float)*value))
        return wrong(r, cell, "it does not fit in float32", "accepted are sizes up to 3.4e38");
    if (!number.exact && r->uses[i] == CSE_CSV_FEATURE && table->rounded++ == 0) {
        table->rounded_line = row;
        table->rounded_column = i;
    }
    return CSE_OK;
}

/* ---- files ---- */

static cse_status read_rows(reading *r)
{
    cse_csv_table *table = r->table;
    int descriptor;
    CSE_TRY(cse_file_pool_descriptor(r->pool, r->file.file, &descriptor));
    for (int64_t row = 0; row < r->file.rows; row++) {
        bool row_is_missing = false;
        if (table->rows == r->capacity) {
            r->capacity = r->capacity > 0 ? 2 * r->capacity : 64;
            const size_t row_bytes = (size_t)table->columns * sizeof *table->values;
            table->values = cse_realloc(table->values, (size_t)r->capacity * row_bytes);
            table->lines = cse_realloc(table->lines, (size_t)r->capacity * sizeof *table->lines);
        }
        table->lines[table->rows] = table->rows + table->dropped;
        double *values = table->values + table->rows * table->columns;
        for (int64_t i = 0; i < table->columns; i++) {
            values[i] = 0;
            if (r->uses[i] != CSE_CSV_PASSED)
                CSE_TRY(take_cell(r, row, i, &values[i], &row_is_missing));
        }
        table->dropped += row_is_missing;
        table->rows += !row_is_missing;
    }
    return CSE_OK;
}

static cse_status read_file(reading *r, const char *path)
{
    int file;
    r->path = path;
    CSE_TRY(cse_is_parquet(path) ? cse_parquet_add(r->pool, path, &file)
                                 : cse_file_pool_add(r->pool, path, &file));
    cse_status status = cse_arrow_open(r->pool, file, &r->file);
    if (status == CSE_OK && r->uses == NULL)
        status = take_names(r);
    if (status == CSE_OK)
        status = find_columns(r);
    if (status == CSE_OK)
        status = read_rows(r);
    cse_arrow_clear(&r->file);
    return status;
}

static cse_status read_files(reading *r, const char *path)
{
    struct stat info;
    cse_file_list list = { 0 };
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return read_file(r, path);
    cse_status status = cse_file_list_read(&list, path, ".parquet");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file ends in .parquet", path);
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status = read_file(r, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

cse_status cse_parquet_table_read(const char *path, const cse_csv_options *options,
                                  cse_csv_table *table)
{
    reading r = { .options = options, .table = table };
    *table = (cse_csv_table){ .counts_rows = true };
    r.pool = cse_file_pool_new(NULL, NULL);
    cse_status status = read_files(&r, path);
    if (status == CSE_OK && table->rows == 0 && table->dropped == 0)
        status = cse_fail(CSE_DATA, "%s: it has no row", path);
    if (status == CSE_OK)
        status = cse_missing_values_told(path, table->dropped, table->rows);
    cse_file_pool_destroy(&r.pool);
    free(r.uses);
    free(r.at);
    if (status != CSE_OK)
        cse_csv_table_clear(table);
    return status;
}
