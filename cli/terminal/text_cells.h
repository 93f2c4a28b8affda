/* Text in columns of a terminal, and curves in a few rows of it. */
#ifndef CSE_CLI_TERMINAL_TEXT_CELLS_H
#define CSE_CLI_TERMINAL_TEXT_CELLS_H

#include <stdbool.h>

#include "engine/base/text.h"

/* Adds `text` in exactly `width` columns: cut, or filled with blanks; at the right for a negative
 * width. What is no character of one column is shown as "?". */
void cse_add_cell(cse_text *line, const char *text, int width);

/* Whether the environment's character set is UTF-8. */
bool cse_terminal_is_utf8(void);

typedef struct cse_curve_plot {
    const double *x, *y; /* by rising x; y may be NaN */
    int count;
    int columns, rows; /* of characters */
    bool plain;        /* without Braille: "*" */
} cse_curve_plot;

/* Appends the rows of the plot, each ended by "\n" and each as wide as `columns`; eight dots in
 * each character. `low` and `high`: the values of the lowest and the highest row. False: no number.
 */
bool cse_plot_curve(const cse_curve_plot *plot, cse_text *out, double *low, double *high);

#endif
