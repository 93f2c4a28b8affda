/* Sizes of the memory plan. */
#ifndef CSE_PASSES_MEMORY_PLAN_H
#define CSE_PASSES_MEMORY_PLAN_H

#include "engine/graph/graph.h"

/* Bytes of a replica's workspace, and a lower bound for any plan with this order of groups: the
 * most bytes that are live at once; of all states; of one partial sum of gradients. */
typedef struct cse_memory_figures {
    int64_t workspace_bytes, lower_bound_bytes;
    int64_t state_bytes, sum_bytes;
} cse_memory_figures;

cse_memory_figures cse_memory_plan_figures(const cse_graph *graph);

/* A stored value of the replica program: its bytes in the workspace, and the groups between which
 * they must be kept. */
typedef struct cse_workspace_value {
    int64_t offset, bytes;
    int first, last;
} cse_workspace_value;

/* All of them, by offset and last group; the caller frees them. */
cse_workspace_value *cse_memory_plan_values(const cse_graph *graph, int *count);

#endif
