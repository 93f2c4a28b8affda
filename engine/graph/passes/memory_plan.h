/* Sizes of the memory plan. */
#ifndef CSE_PASSES_MEMORY_PLAN_H
#define CSE_PASSES_MEMORY_PLAN_H

#include "engine/graph/graph.h"

/* Bytes of a replica's workspace, and a lower bound for any plan of what lies there with this order
 * of groups: the most bytes of it that are live at once; bytes of the places of gradients that the
 * plan lends; of all states; of one partial sum of gradients. */
typedef struct cse_memory_figures {
    int64_t workspace_bytes, lower_bound_bytes, lent_bytes;
    int64_t state_bytes, sum_bytes;
} cse_memory_figures;

cse_memory_figures cse_memory_plan_figures(const cse_graph *graph);

#endif
