/* Sums along the reduction tree: what a microbatch gradient, a partial sum and the reduced values
 * are made of, and how they are added.
 *
 * A microbatch gradient (CSE_SPACE_PARTIAL) is an array of float32 values: gradients, and sums of
 * losses and metrics. With a 16-bit payload the gradients are rounded at every node of the tree,
 * single microbatches included, so that the rounding does not depend on who computed the node;
 * losses and metrics (values of the forward pass, among them counts, which 16 bits would change)
 * are always exact float32. A table of segments says which is which. In a partial sum, a rounded
 * segment's 16-bit values lie packed at the start of the segment's bytes; everything else has the
 * layout of a microbatch gradient.
 *
 * Stochastic rounding draws from (seed, step, the gradient's name, the node's first microbatch and
 * size, the element in its gradient), so that the bits depend neither on the process that adds nor
 * on what else is summed.
 *
 * The loops add element by element: the same bits for every instruction set and block length. */
#ifndef CSE_WORKERS_ARENA_REDUCE_H
#define CSE_WORKERS_ARENA_REDUCE_H

#include "engine/base/types/rounding.h"
#include "engine/graph/graph.h"
#include "workers/hosts/reduction_tree.h"

/* Elements [first, first + count) of a gradient, all of one kind. `first` is a multiple of 16. */
typedef struct cse_segment {
    int64_t first, count;
    int32_t rounded; /* boolean: 16 bits in partial sums */
    uint32_t stream; /* of its random numbers */
} cse_segment;

typedef struct cse_segments {
    const cse_segment *items; /* ascending, disjoint */
    int count;
    cse_rounding payload;
    uint64_t seed; /* with `step`: for stochastic rounding */
    int64_t step;
} cse_segments;

/* Whether partial sums can be stored in this rounding. */
bool cse_payload_possible(cse_rounding payload);

/* Segments of the graph's gradients for a payload: neighbours of one kind are merged, unless each
 * has its own stream of random numbers. `items` has room for graph->node_count. CSE_INTERNAL when
 * the memory plan's offsets overlap, are misaligned or leave the space. */
cse_status cse_segments_find(const cse_graph *graph, cse_rounding payload, cse_segment *items,
                             int *count);
bool cse_segments_exact(cse_segments segments);

/* The microbatches of a sum: they alone identify the tree node in the random numbers. */
typedef struct cse_microbatch_range {
    int first, size;
} cse_microbatch_range;

/* The elements of a segment that lie in a range. */
typedef struct cse_segment_part {
    cse_segment segment;
    int64_t skip, count; /* from the segment's start */
} cse_segment_part;

/* False: none lie in elements [range[0], range[1]). */
bool cse_segment_part_of(cse_segment segment, const int64_t range[2], cse_segment_part *part);

/* Each of these three works on elements [range[0], range[1]); range[0] is a multiple of 16.
 *
 * partial := the gradient of a microbatch (rounded). */
void cse_partial_sum_set(const cse_segments *segments, const int64_t range[2],
                         unsigned char *partial, const unsigned char *gradient, int microbatch);
/* partial := partial + the gradient of its last microbatch (the gradient rounded, then the sum).
 * `sum`: the result's microbatches. */
void cse_partial_sum_add_gradient(const cse_segments *segments, const int64_t range[2],
                                  unsigned char *partial, const unsigned char *gradient,
                                  cse_microbatch_range sum);
/* left := left + right. `sum`: the result's microbatches. */
void cse_partial_sum_add(const cse_segments *segments, const int64_t range[2], unsigned char *left,
                         const unsigned char *right, cse_microbatch_range sum);

/* How a step's partial sums are joined (added up to the root): a program for a stack of blocks. */
typedef enum cse_join_kind {
    CSE_JOIN_LOAD, /* block[depth] := partial */
    CSE_JOIN_ADD,  /* block[depth] := block[depth] + partial */
    CSE_JOIN_SUM,  /* block[depth] := block[depth] + block[depth + 1] */
} cse_join_kind;

typedef struct cse_join_step {
    cse_join_kind kind;
    int depth;
    const unsigned char *partial;
    cse_microbatch_range sum; /* microbatches of an addition's result */
} cse_join_step;

enum { CSE_JOIN_BLOCK = 1024 };

typedef struct cse_join {
    cse_join_step *steps; /* room for two per microbatch */
    int count;
    float *blocks; /* CSE_JOIN_BLOCK floats for each level of the tree */
} cse_join;

/* The partial sum of `node`, or NULL when it must be made from its children. */
typedef const unsigned char *cse_partial_sum_lookup(void *self, cse_tree_node node);

/* Writes the program for the sum of `root`. */
void cse_join_plan(cse_join *join, cse_tree_node root, cse_partial_sum_lookup *lookup, void *self);
/* Runs the program for elements [first, end) of `reduced` (float32, layout of a gradient). */
void cse_join_run(const cse_join *join, const cse_segments *segments, unsigned char *reduced,
                  int64_t first, int64_t end);

#endif
