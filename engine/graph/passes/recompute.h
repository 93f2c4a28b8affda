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

/* Of the first `whole` regions all is recomputed that does not leave them. Of those after them, up
 * to the first `light`, products, convolutions, attention and what else a kernel computes is kept,
 * and the rest is recomputed: it takes little time. */
typedef struct cse_recompute_extent {
    int whole, light;
} cse_recompute_extent;

/* What has to be recomputed so that a replica's workspace is within
 * graph->recompute->memory_limit_bytes: as few regions wholly as possible, then as few of the
 * others as possible. Without a limit: all wholly. CSE_CONFIG, with what is needed at least, where
 * that is too little. */
cse_status cse_recompute_choose(const cse_graph *graph, const cse_recompute_regions *regions,
                                cse_recompute_extent *extent);

/* Rewrites the graph so that as much is recomputed; with streamed states, values of these too. */
void cse_recompute_apply(cse_graph *graph, const cse_recompute_regions *regions,
                         const cse_recompute_extent *extent);

/* The backward pass computes again what it reads of values that are made of states alone, by ops
 * that take little time: for a graph that streams its states. */
void cse_recompute_states(cse_graph *graph);

#endif
