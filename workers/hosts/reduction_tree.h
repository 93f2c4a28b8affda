/* The fixed-order reduction tree: the order in which the microbatches' gradients are added.
 *
 * Floating-point addition is not associative, so the order of a sum is part of the result. Here it
 * is fixed by the number M of microbatches alone: one binary tree over [0, M) in which a node of
 * n > 1 microbatches splits at the largest power of two below n. (For M = 2^k it is the complete
 * binary tree, else that of the next power of two without the missing leaves.) Left children are
 * complete; only nodes on the right edge may be incomplete.
 *
 * A process that has a contiguous range of microbatches sums the largest nodes inside it by itself.
 * The two children of a node are always added in the same order, so the bits do not depend on which
 * process adds them or when: any number of replicas from 1 to M gives the same result. Prior art:
 * EasyScale (fixed logical workers), TBIK (one tree across tensor-parallel sizes).
 *
 * Nodes are numbered in heap order: the root is 1, the children of i are 2i and 2i + 1. */
#ifndef CSE_WORKERS_HOSTS_REDUCTION_TREE_H
#define CSE_WORKERS_HOSTS_REDUCTION_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* A node of the tree over [0, M): its microbatches are [first, first + size). */
typedef struct cse_tree_node {
    int heap;
    int first, size;
} cse_tree_node;

/* Size of an array indexed by heap number, for the tree over [0, microbatches); entry 0 unused. */
int cse_tree_places(int microbatches);
/* Most gradients and partial sums in memory at a time while the tree is summed left to right. */
int cse_tree_depth(int microbatches);

static inline cse_tree_node cse_tree_root(int microbatches)
{
    return (cse_tree_node){ .heap = 1, .first = 0, .size = microbatches };
}

/* Children of a node with size > 1. */
cse_tree_node cse_tree_left(cse_tree_node node);
cse_tree_node cse_tree_right(cse_tree_node node);

/* The node with heap number `heap`; false when the tree has none. */
bool cse_tree_find(int microbatches, int heap, cse_tree_node *node);

/* The share of a replica, which it computes first: [*first, *end). All make [0, microbatches). */
void cse_tree_share(int microbatches, int replicas, int replica, int *first, int *end);

/* The nodes that cover [first, end): the largest ones inside it, from left to right. `nodes` has
 * room for all microbatches. Returns their number. */
int cse_tree_cover(int microbatches, int first, int end, cse_tree_node *nodes);

/* Where the first of these nodes ends, first < end: the next one begins there. */
int cse_tree_next(int microbatches, int first, int end);

/* How many additions of the two latest partial sums follow gradient `count - 1` of a range: the
 * trailing zeros of `count`, as carries in a binary counter. At the end of the range the partial
 * sums that are left are added from the right. */
static inline int cse_tree_carries(int count)
{
    return __builtin_ctz((unsigned)count);
}

#endif
