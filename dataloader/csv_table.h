/* A table of numbers from a text file of separated values (RFC 4180, without line breaks in
 * fields).
 *
 * Strict on purpose: a field that is no number, a missing field or an empty line is an error with
 * its place, since a guessed value in training data would go unnoticed. */
#ifndef CSE_DATALOADER_CSV_TABLE_H
#define CSE_DATALOADER_CSV_TABLE_H

#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_csv_table {
    int64_t rows;
    int64_t columns;
    double *values;     /* [row, column]; each finite in float32 too */
    char **names;       /* of the columns; NULL without a header */
    int64_t first_line; /* line of row 0 in the file, counted from 1 */
} cse_csv_table;

/* Reads the file, plain or gzip. `delimiter` separates fields; spaces and tabs around a field, a
 * byte order mark, CRLF and double quotes are accepted. With `header` the first line names the
 * columns. CSE_DATA says file:line:column. The caller releases the table with
 * cse_csv_table_clear. */
cse_status cse_csv_table_load(const char *path, char delimiter, bool header, cse_csv_table *table);
/* A column whose fields are words: each becomes its place in the list. */
typedef struct cse_csv_words {
    const char *column; /* its name, or its number counted from 0 */
    const char *const *words;
    int count;
} cse_csv_words;
/* The same with such a column; `words` NULL: none. */
cse_status cse_csv_table_load_words(const char *path, char delimiter, bool header,
                                    const cse_csv_words *words, cse_csv_table *table);
void cse_csv_table_clear(cse_csv_table *table);

#endif
