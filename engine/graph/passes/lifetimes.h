/* Between which groups each value of the REPLICA program must be kept. */
#ifndef CSE_PASSES_LIFETIMES_H
#define CSE_PASSES_LIFETIMES_H

#include "engine/graph/graph.h"

/* Whether the value has its place in a workspace: it is neither a leaf, nor a sum over the batch,
 * nor a fetched value. */
bool cse_is_workspace_value(const cse_graph *graph, const cse_node *node);

/* Until when group `reader` needs the value: what is computed once a step is read again by the
 * groups of the next microbatch. */
int cse_last_reader(const cse_graph *graph, const cse_node *value, int reader);

/* A value of a planned graph in CSE_SPACE_REPLICA or CSE_SPACE_LENT: its place, and the groups from
 * the one that makes it to the last that reads it; group_count: it is kept for ever. */
typedef struct cse_lifetime {
    cse_space space;
    int64_t offset, bytes;
    int first, last;
} cse_lifetime;

/* All of them, by space, offset and last group; the caller frees them. */
cse_lifetime *cse_lifetimes_find(const cse_graph *graph, int *count);

#endif
