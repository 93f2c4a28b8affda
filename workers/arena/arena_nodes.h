/* On which memory of the machine (NUMA node) the parts of an arena lie: each on that of the process
 * that works on it most.
 *
 *     partial sum, input        the replica that has the microbatch in its share
 *     reduced values, states    the process that begins with their chunk (work_stage.c)
 *     all else                  where its creator runs
 *
 * Pages are told where they belong before they are reserved. The kernel keeps that with the file,
 * for whoever touches a page first; where a memory is full, it takes another one. No result depends
 * on it. An arena on a disk has no such places. */
#ifndef CSE_WORKERS_ARENA_ARENA_NODES_H
#define CSE_WORKERS_ARENA_ARENA_NODES_H

#include "workers/arena/layout.h"

/* The system's numbers of the memories that the replicas, and the weight servers, are nearest to;
 * without weight servers replicas have their work. */
typedef struct cse_arena_nodes {
    const int *replicas, *weight_servers;
} cse_arena_nodes;

/* Whole pages of an arena. */
typedef struct cse_node_range {
    int64_t first, end;
    int node;
} cse_node_range;

typedef struct cse_node_ranges {
    cse_node_range *items; /* to be freed */
    int count, capacity;
} cse_node_ranges;

/* The pages of the arena of this head that have a place. A pure function. */
void cse_arena_node_ranges(const cse_cluster_layout *layout, const cse_arena_head *head,
                           const cse_arena_nodes *nodes, cse_node_ranges *ranges);

/* Tells the kernel, of the arena with this descriptor; how many ranges it took. */
int cse_arena_nodes_set(int descriptor, int64_t bytes, const cse_node_ranges *ranges);

#endif
