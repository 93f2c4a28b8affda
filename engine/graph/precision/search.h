/* Which layers can run at which precision level: bisection over layers and levels.
 *
 * Every layer starts at level 0, the most precise. From the least precise level on, all layers that
 * are still at level 0 are tried at that level together. A set that is not accepted is halved, down
 * to single layers; a layer that is not accepted alone is tried at the next level. Accepted layers
 * keep their level while the rest is tried, so the returned assignment was itself judged as a
 * whole. If acceptance is monotone (making a layer more precise never makes an accepted assignment
 * unacceptable), no single layer of the result can be made less precise.
 *
 * A level costs about 2 k log2(n / k) trials for k refused layers out of n, instead of n (as in
 * delta debugging: Zeller and Hildebrandt 2002). */
#ifndef CSE_PRECISION_SEARCH_H
#define CSE_PRECISION_SEARCH_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_precision_search {
    int layer_count, level_count;
    /* Sets *within: whether the assignment, a level for each layer, is accepted. A failure ends the
     * search. */
    cse_status (*judge)(void *self, const int *levels, bool *within);
    void *self;
    /* Set before each call: how many further calls there can be at most. May be NULL. */
    int *most_left;
} cse_precision_search;

/* Writes a level for each layer into levels[layer_count]. */
cse_status cse_precision_search_run(const cse_precision_search *search, int *levels);

#endif
