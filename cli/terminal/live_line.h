/* One line of a terminal that is drawn over and over, below the lines that stay.
 *
 * Lines that stay, log records among them, are printed above it. The cursor rests at its first
 * column: when the terminal becomes narrower and breaks the line, the rest lies behind the cursor
 * and is erased with it. Every function but open and close may be called from several threads. */
#ifndef CSE_CLI_TERMINAL_LIVE_LINE_H
#define CSE_CLI_TERMINAL_LIVE_LINE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct cse_live_line cse_live_line;

/* Draws on `out`, which must be a terminal. `draw` writes the line for a width, with the escape
 * sequences that it needs, into text[512]; "" shows nothing. It is called a few times a second, and
 * never at the same time as a function between cse_live_line_lock and unlock. */
typedef struct cse_live_line_options {
    FILE *out;
    void (*draw)(void *self, int width, char *text);
    void *self;
    bool no_thread; /* drawn by cse_live_line_draw alone: for a program whose time is measured */
} cse_live_line_options;

/* Starts a thread, so no process may be forked after it that goes on without exec. Log lines are
 * printed above the line until it is closed. NULL when there are no threads: then nothing is
 * drawn. */
cse_live_line *cse_live_line_open(const cse_live_line_options *options);
/* Erases the line. Accepts NULL. */
void cse_live_line_close(cse_live_line **line);

/* Keeps `draw` from being called, and erases the line: the holder may print. Accepts NULL. */
void cse_live_line_lock(cse_live_line *line);
/* Draws the line again. */
void cse_live_line_unlock(cse_live_line *line);
/* As a lock without erasing, to change what `draw` reads. */
void cse_live_line_begin_change(cse_live_line *line);
void cse_live_line_end_change(cse_live_line *line);

/* Draws now, if an interval has passed. Accepts NULL. */
void cse_live_line_draw(cse_live_line *line);

/* Columns of the terminal that `file` is; 80 when it does not say. */
int cse_terminal_width(int file);

#endif
