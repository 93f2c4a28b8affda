/* Which nodes of the reduction tree a step's partial sums are, and who computes them.
 *
 * The microbatches of this host are shared out over the step's replicas; each other host has its
 * pieces, the largest nodes in its range. Nodes that this host's replicas may claim come first:
 * those of its own range, then those of hosts that are lost. */
#ifndef CSE_WORKERS_ARENA_NODE_PLAN_H
#define CSE_WORKERS_ARENA_NODE_PLAN_H

#include "workers/arena/layout.h"

typedef struct cse_node_plan {
    cse_tree_node *nodes; /* the caller's: room for all microbatches */
    int count;
    int claimable;          /* nodes [0, claimable) are computed here */
    int own_first, own_end; /* those of the replica that the plan was made for */
    /* What it was made for. */
    int replicas;
    cse_host_set lost;
    const cse_host_cut *cut;
    int64_t cut_step;
} cse_node_plan;

/* The microbatches of this host in step `step`: [*first, *end). */
void cse_own_microbatches(const cse_cluster *cluster, int64_t step, int *first, int *end);

/* Makes the plan of step `step`, unless it is that already; false then. */
bool cse_node_plan_make(const cse_cluster *cluster, int64_t step, int replicas, int replica,
                        cse_node_plan *plan);

/* Whether the partial sum of the node is there. */
static inline bool cse_node_is_done(const cse_cluster *cluster, cse_tree_node node,
                                    int64_t sequence)
{
    return cse_word_is(cse_word_load(&cluster->nodes[node.heap]), CSE_WORD_DONE, sequence);
}

/* Whether the partial sum of the node, or those of its children, are there. */
bool cse_node_complete(const cse_cluster *cluster, cse_tree_node node, int64_t sequence);

#endif
