/* Which layers may go how low: a search by bisection over layers and levels.
 *
 * Every layer starts at level 0, the most precise. From the lowest level upwards, the layers that
 * have not been lowered yet are tried at that level all together; a set that does not do is halved,
 * down to single layers, and a layer that does not do alone is left for the next level. What is
 * accepted stays while the rest is tried, so the assignment that is returned was itself judged as a
 * whole. Where the judgement is monotone (raising a layer never makes an accepted assignment
 * unacceptable) no single layer of the result can be lowered further.
 *
 * Sets cost about 2 k log2(n / k) judgements a level for k layers out of n that do not do, instead
 * of n (as delta debugging: Zeller and Hildebrandt 2002). */
#ifndef CSE_PRECISION_SEARCH_H
#define CSE_PRECISION_SEARCH_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_precision_search {
    int layer_count, level_count;
    /* Sets *within: whether the assignment, a level for each layer, does. A failure ends the
     * search. */
    cse_status (*judge)(void *self, const int *levels, bool *within);
    void *self;
} cse_precision_search;

/* Writes a level for each layer into levels[layer_count]. */
cse_status cse_precision_search_run(const cse_precision_search *search, int *levels);

#endif
