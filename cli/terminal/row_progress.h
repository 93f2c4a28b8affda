/* Progress of a command that trains row after row of a table: which row, which of its steps, and
 * the time left. On a terminal a live line on stderr, else a line on stderr behind each row. */
#ifndef CSE_CLI_TERMINAL_ROW_PROGRESS_H
#define CSE_CLI_TERMINAL_ROW_PROGRESS_H

#include <stdint.h>

#include "cli/terminal/live_line.h"

typedef struct cse_row_progress {
    const char *word; /* what a row is: "row", "trial" */
    bool quiet;       /* nothing is shown */
    bool at_most;     /* `rows` and the time left are bounds */
    int rows;         /* of all, the one in progress included; 0: not known yet */
    int64_t steps;    /* of each row */
    /* Kept by the functions. */
    cse_live_line *line;
    char name[64];
    int done;
    int64_t step, row_ns; /* of the row in progress; when it began */
    double seconds;       /* of the rows that are done */
} cse_row_progress;

/* The struct must stay where it is until it is closed. */
void cse_rows_open(cse_row_progress *rows);
void cse_rows_begin(cse_row_progress *rows, const char *name);
void cse_rows_step(cse_row_progress *rows, int64_t step);
/* A row is done: `rows` and `at_most` may change between lock and unlock, where it is printed. */
void cse_rows_lock_done(cse_row_progress *rows);
void cse_rows_unlock(cse_row_progress *rows);
void cse_rows_close(cse_row_progress *rows);

/* From the mean of the rows so far; NaN: not known yet. */
double cse_rows_seconds_left(const cse_row_progress *rows);

/* The live line, of at most `width` columns: parts that do not fit are left out, the name first. */
void cse_rows_line(const cse_row_progress *rows, int width, char text[512]);

#endif
