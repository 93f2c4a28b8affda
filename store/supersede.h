/* Steps that are done again: a successor or a later start goes on from before the last step that
 * the store holds, and what earlier attempts recorded of the steps from there on is replaced, so
 * that each table has one row a step.
 *
 * Points of a run that somebody started again may differ (other settings, a checkpoint that was
 * named), and are moved to the table `superseded`. Those of a coordinator that was killed are the
 * same bits as its successor's, and are removed. */
#ifndef CSE_STORE_SUPERSEDE_H
#define CSE_STORE_SUPERSEDE_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

typedef struct cse_supersession {
    int64_t attempt; /* rows of those before it are superseded */
    int64_t step;    /* from this one on */
    int64_t series;  /* points of this one alone; 0: rows of all series and tables */
    bool keeps;      /* points are moved */
} cse_supersession;

/* Within the transaction that is open. SQLite's result code. */
int cse_supersede(struct sqlite3 *handle, const cse_supersession *supersession);

/* The same for each attempt of a store that has rows of several for one step. */
int cse_supersede_all(struct sqlite3 *handle);

#endif
