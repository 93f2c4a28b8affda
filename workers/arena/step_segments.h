/* Where the program of a microbatch may be left, so that all microbatches of a node go through the
 * groups before that place ahead of those behind it: weights that are streamed then come once for
 * all of them (the vertical schedule of GreedySnake).
 *
 * What a microbatch has in its workspace at such a place stays; the rest is given back. The sums
 * are made in the same order for each of their elements, so that they have the same bits. */
#ifndef CSE_WORKERS_ARENA_STEP_SEGMENTS_H
#define CSE_WORKERS_ARENA_STEP_SEGMENTS_H

#include "engine/graph/graph.h"

/* Bytes [first, end) of a workspace. */
typedef struct cse_workspace_range {
    int64_t first, end;
} cse_workspace_range;

/* Groups from the end of the segment before on. */
typedef struct cse_step_segment {
    int end; /* group */
    /* What is not kept behind it, of a workspace: whole pages. */
    cse_workspace_range *free;
    int free_count;
} cse_step_segment;

typedef struct cse_step_segments {
    cse_step_segment *items;
    int count;
    int64_t kept_bytes;    /* the most that a microbatch keeps between two segments */
    int64_t touched_bytes; /* the most that a segment touches of a workspace */
    int64_t sum_bytes;     /* the most of a gradient that a segment makes final */
    int64_t unfinal_bytes; /* the most of one that is begun, and not final, between two */
} cse_step_segments;

/* Each segment reads and makes about `unit_bytes` of states and gradients, or is one group. */
void cse_step_segments_find(const cse_graph *graph, int64_t unit_bytes,
                            cse_step_segments *segments);
void cse_step_segments_clear(cse_step_segments *segments);

#endif
