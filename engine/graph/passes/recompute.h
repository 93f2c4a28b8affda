/* The regions whose activations are computed again for the backward pass. */
#ifndef CSE_PASSES_RECOMPUTE_H
#define CSE_PASSES_RECOMPUTE_H

#include "engine/graph/graph.h"

/* The region of each node, and how many there are. */
typedef struct cse_recompute_regions {
    int *
        of_node; /* by position in graph->nodes: from 1 in the order of the forward pass; 0: none */
    int count;
} cse_recompute_regions;

/* Finds the regions: of each CSE_RECOMPUTE block, and of each scope that a pattern names.
 * CSE_CONFIG for a pattern that names none. The caller frees of_node. */
cse_status cse_recompute_find_regions(const cse_graph *graph, cse_recompute_regions *regions);

/* How many regions, from the first on, have to be recomputed so that a replica's workspace is
 * within graph->recompute->memory_limit_bytes; all without a limit. CSE_CONFIG, with what is needed
 * at least, where all are too few. */
cse_status cse_recompute_choose(const cse_graph *graph, const cse_recompute_regions *regions,
                                int *count);

/* Rewrites the graph so that the first `count` regions are recomputed. */
void cse_recompute_apply(cse_graph *graph, const cse_recompute_regions *regions, int count);

#endif
