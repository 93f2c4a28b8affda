/* The fields of separated values in a text that is in memory (RFC 4180): quoted fields may hold
 * delimiters and line breaks, a line ends with LF, CRLF or CR, spaces and tabs around a field do
 * not count, and neither do a byte order mark, blank lines at the end of the text and the control
 * character that ends files of DOS. */
#ifndef CSE_DATALOADER_TABLES_CSV_TEXT_H
#define CSE_DATALOADER_TABLES_CSV_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_CSV_FIELD_BYTES = 256 };

typedef struct cse_csv_text {
    const char *path; /* borrowed, as the text is */
    char delimiter;
    const char *cursor, *end, *line_start;
    int64_t line;                     /* at the cursor, counted from 1 */
    char field[CSE_CSV_FIELD_BYTES];  /* the field that was taken last, printable */
    bool too_long;                    /* it has more than field holds */
    int64_t field_line, field_column; /* where it begins, counted from 1 */
    bool line_ends;                   /* it was the last of its line */
} cse_csv_text;

/* CSE_DATA for what is no text of bytes: UTF-16, and files of other formats by their names. */
cse_status cse_csv_text_begin(cse_csv_text *text, const char *bytes, size_t size);
/* Whether nothing but the end follows the line that was taken. */
bool cse_csv_text_ended(const cse_csv_text *text);
/* Takes the field at the cursor, and the delimiter behind it. */
cse_status cse_csv_text_take(cse_csv_text *text);
/* Goes on to the line behind one whose last field was taken. */
void cse_csv_text_next_line(cse_csv_text *text);
/* The failure of the field that was taken last, with its place. */
cse_status cse_csv_text_wrong(const cse_csv_text *text, const char *what);

#endif
