/* A frame of `csengine top`: lines as wide as the terminal, as many as it has rows. */
#ifndef CSE_CLI_TOP_TOP_VIEW_H
#define CSE_CLI_TOP_TOP_VIEW_H

#include "cli/top/top_data.h"

enum { CSE_TOP_LEAST_ROWS = 12, CSE_TOP_LEAST_COLUMNS = 40 };

typedef struct cse_top_view {
    int rows, columns;
    bool coloured; /* and what is chosen is marked by escape sequences */
    bool plain;    /* characters of ASCII alone */
    int sort;      /* a column of the list; 0: newest first */
    bool reversed;
    bool is_paused, shows_help;
    const char *typing;            /* the condition as it is typed; NULL: it is not */
    char chosen[CSE_TOP_ID_BYTES]; /* a job; "": the first */
    int first;                     /* row of the list that is the first in view */
    const char *clock;             /* "12:01:33" */
} cse_top_view;

/* Columns that the list can be sorted by, by their names: "newest", "id", "state", ...; ended by
 * NULL. */
extern const char *const cse_top_sorts[];

/* The jobs in the order in which they are shown: a new array. */
json_t *cse_top_sorted(const cse_top_data *data, const cse_top_view *view);
/* The place of the chosen job in that order; it is chosen by this, if it was not there: -1: there
 * are no jobs. */
int cse_top_choose(const json_t *sorted, cse_top_view *view);
/* Rows of the list that are in view. */
int cse_top_list_rows(const cse_top_view *view, int jobs);

/* Appends the frame, each line ended by "\n". */
void cse_top_draw(const cse_top_data *data, const json_t *sorted, cse_top_view *view,
                  cse_text *out);

#endif
