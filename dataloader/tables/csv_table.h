/* A table of numbers from a text file of separated values.
 *
 * Strict on purpose: a field that is no number, a missing field or an empty line between others is
 * an error with its place, since a guessed value in training data would go unnoticed. */
#ifndef CSE_DATALOADER_TABLES_CSV_TABLE_H
#define CSE_DATALOADER_TABLES_CSV_TABLE_H

#include <stdint.h>

#include "csengine/status.h"
#include "dataloader/tables/missing_values.h"

typedef struct cse_csv_table {
    int64_t rows;
    int64_t columns;
    double *values; /* [row, column]; each finite in float32 too; NaN: to be filled, 0: not read */
    char **names;   /* of the columns; NULL without a header */
    int64_t *lines; /* [row] in the file, counted from 1 */
    bool counts_rows; /* `lines` are rows, counted from 0 */
    int64_t dropped;  /* rows that were left out */
    /* Whole numbers among features that float32 does not hold, and the first of them. */
    int64_t rounded, rounded_line, rounded_column;
} cse_csv_table;

/* What a column is read as. */
typedef enum cse_csv_use {
    CSE_CSV_FEATURE, /* numbers; True and False, where a column has nothing else, are 1 and 0 */
    CSE_CSV_ANSWER,  /* the same, and never filled; NaN: it is missing */
    CSE_CSV_WORDS,   /* the place of a word in the list, never filled */
    CSE_CSV_PASSED   /* not read */
} cse_csv_use;

typedef struct cse_csv_options {
    char delimiter, decimal;
    bool header; /* the first line names the columns */
    cse_missing_values missing;
    bool may_lack_answers; /* an answer that is missing is NaN, whatever `missing` says */
    const char *const *words;
    int word_count;
    /* Called once the columns are known, by `names` and `columns`; NULL: all are features. */
    cse_status (*choose)(void *self, const cse_csv_table *table, cse_csv_use *uses);
    void *self;
} cse_csv_options;

/* Reads the file, plain or compressed with gzip or zstd; csv_text.h says which text is accepted.
 * CSE_DATA says file:line:column. The caller releases the table with cse_csv_table_clear. */
cse_status cse_csv_table_read(const char *path, const cse_csv_options *options,
                              cse_csv_table *table);
/* The same of a table of features alone. */
cse_status cse_csv_table_load(const char *path, char delimiter, bool header, cse_csv_table *table);
void cse_csv_table_clear(cse_csv_table *table);

/* A column by its name in the header; else by its number, from 0 on, or from -1 on backwards; -1:
 * there is none. */
int64_t cse_csv_table_find(const cse_csv_table *table, const char *name);

#endif
