/* The canonical tree: in which order the microbatches' contributions are added.
 *
 * Floating-point addition is not associative, so the order of a sum is part of the result. Here it
 * is fixed by the number M of microbatches alone: one binary tree over [0, M) in which a node of n
 * > 1 leaves splits at the largest power of two below n. (It is the complete tree over the next
 * power of two without its missing leaves; for M = 2^k the usual one.) Left children are aligned
 * and full; only nodes on the right edge may be ragged.
 *
 * Whoever holds a contiguous range of leaves sums the largest nodes inside it by itself (pieces);
 * whoever joins siblings, in whatever order they arrive, gets the same bits. So any number of
 * replicas from 1 to M gives the same result. Prior art: EasyScale (fixed logical workers), TBIK
 * (one tree across tensor-parallel sizes).
 *
 * Nodes are numbered in heap order: the root is 1, the children of i are 2i and 2i + 1. */
#ifndef CSE_WORKERS_ARENA_REDUCTION_TREE_H
#define CSE_WORKERS_ARENA_REDUCTION_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* A node of the tree over [0, M): its leaves are [first, first + size). */
typedef struct cse_tree_node {
    int heap;
    int first, size;
} cse_tree_node;

/* Places for the nodes of the tree over [0, leaves), place 0 unused. */
int cse_tree_places(int microbatches);
/* Most values a sum along the tree holds at a time, the leaf at hand included. */
int cse_tree_depth(int microbatches);

static inline cse_tree_node cse_tree_root(int microbatches)
{
    return (cse_tree_node){ .heap = 1, .first = 0, .size = microbatches };
}

/* Children of a node with size > 1. */
cse_tree_node cse_tree_left(cse_tree_node node);
cse_tree_node cse_tree_right(cse_tree_node node);

/* The node with a given place; false when the tree has none there. */
bool cse_tree_find(int microbatches, int heap, cse_tree_node *node);

/* The range replica r of R computes by first choice: [*first, *end), together [0, leaves). */
void cse_tree_share(int microbatches, int replicas, int replica, int *first, int *end);

/* The pieces of [first, end): the largest nodes inside it, from left to right. `pieces` has room
 * for `leaves`. Returns their number. */
int cse_tree_cover(int microbatches, int first, int end, cse_tree_node *nodes);

/* How many of the latest partial sums must be joined after leaf `count - 1` of a run of leaves was
 * added to it (a binary counter: as many as `count` has trailing zeros); at the end of the run all
 * that are left are joined from the right. */
static inline int cse_tree_carries(int count)
{
    return __builtin_ctz((unsigned)count);
}

#endif
