/* What the memory plan says about itself. */
#ifndef CSE_PASSES_MEMORY_PLAN_H
#define CSE_PASSES_MEMORY_PLAN_H

#include "engine/graph/graph.h"

/* Bytes of a replica's workspace, and the bound below which no plan of this order can go: the most
 * bytes that live at once. */
typedef struct cse_memory_figures {
    int64_t workspace_bytes, lower_bound_bytes;
} cse_memory_figures;

cse_memory_figures cse_memory_plan_figures(const cse_graph *graph);

/* First and last group that needs a value of `space` (made by a group) to stand; the whole of
 * graph->group_count when it is a result of its program. */
void cse_memory_plan_lifetime(const cse_graph *graph, const cse_node *node, int range[2]);

#endif
