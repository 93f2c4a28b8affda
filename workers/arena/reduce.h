/* Sums along the canonical tree: what one leaf, a piece and the reduced values are made of, and how
 * they are added.
 *
 * A leaf (CSE_SPACE_PARTIAL) is an array of float32 values: gradients, and sums of losses and
 * metrics. With a 16-bit payload the gradients are rounded at every node of the tree, leaves
 * included, so that the rounding does not depend on who computed the node; losses and metrics
 * (values of the forward pass, where a count of 257 must stay 257) are always exact float32. A
 * table of segments says which is which. In a piece, a rounded segment's 16-bit values lie packed
 * at the start of the segment's bytes; everything else has the layout of a leaf.
 *
 * Stochastic rounding draws from (seed, step, the gradient's name, the node's first leaf and size,
 * the element in its gradient), so that the bits do not depend on who joins the node, nor on what
 * else is summed.
 *
 * The loops add element by element: the same bits for every instruction set and block length. */
#ifndef CSE_WORKERS_ARENA_REDUCE_H
#define CSE_WORKERS_ARENA_REDUCE_H

#include "engine/graph/graph.h"
#include "engine/types/rounding.h"
#include "workers/arena/reduction_tree.h"

/* Elements [first, first + count) of a leaf, all of one kind. `first` is a multiple of 16. */
typedef struct cse_segment {
    int64_t first, count;
    int32_t rounded; /* boolean: 16 bits in pieces */
    uint32_t stream; /* of its random numbers */
} cse_segment;

typedef struct cse_segments {
    const cse_segment *items; /* ascending, disjoint */
    int count;
    cse_rounding payload;
    uint64_t seed; /* with `step`: of stochastic rounding */
    int64_t step;
} cse_segments;

/* Whether sums can be kept so. */
bool cse_payload_possible(cse_rounding payload);

/* Segments of the graph's leaves for a payload: neighbours of one kind are joined, unless each has
 * random numbers of its own. `items` has room for graph->node_count. CSE_INTERNAL when the memory
 * plan's offsets overlap, are misaligned or leave the space. */
cse_status cse_segments_find(const cse_graph *graph, cse_rounding payload, cse_segment *items,
                             int *count);
bool cse_segments_exact(cse_segments segments);

/* The range of leaves a sum is over: all of a node that random numbers depend on. */
typedef struct cse_microbatch_range {
    int first, size;
} cse_microbatch_range;

/* piece := leaf number `number` (rounded). */
void cse_partial_sum_set(const cse_segments *segments, unsigned char *partial,
                         const unsigned char *gradient, int microbatch);
/* piece := piece + its last leaf (the leaf rounded, then the sum). `sum`: of the result. */
void cse_partial_sum_add_gradient(const cse_segments *segments, unsigned char *partial,
                                  const unsigned char *gradient, cse_microbatch_range sum);
/* left := left + right. `sum`: of the result. */
void cse_partial_sum_add(const cse_segments *segments, unsigned char *left,
                         const unsigned char *right, cse_microbatch_range sum);

/* How to join a step's pieces at the root: a short program for a stack of blocks. */
typedef enum cse_join_kind {
    CSE_JOIN_LOAD, /* block[depth] := piece */
    CSE_JOIN_ADD,  /* block[depth] := block[depth] + piece */
    CSE_JOIN_SUM,  /* block[depth] := block[depth] + block[depth + 1] */
} cse_join_kind;

typedef struct cse_join_step {
    cse_join_kind kind;
    int depth;
    const unsigned char *partial;
    cse_microbatch_range sum; /* of an addition's result */
} cse_join_step;

enum { CSE_JOIN_BLOCK = 1024 };

typedef struct cse_join {
    cse_join_step *steps; /* room for two a leaf */
    int count;
    float *blocks; /* CSE_JOIN_BLOCK floats for each level of the tree */
} cse_join;

/* Whether `node` is a piece (returns its bytes) or is to be made from its children (NULL). */
typedef const unsigned char *cse_partial_sum_lookup(void *self, cse_tree_node node);

/* Writes the program for the tree over [0, leaves). */
void cse_join_plan(cse_join *join, int leaves, cse_partial_sum_lookup *lookup, void *self);
/* Elements [first, end) of `reduced` (float32, layout of a leaf) by the program. */
void cse_join_run(const cse_join *join, const cse_segments *segments, unsigned char *reduced,
                  int64_t first, int64_t end);

#endif
