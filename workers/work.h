/* Inside of a worker's loop: what one process remembers, and the parts of a step it can do.
 *
 * Everything here is private to the process and may be lost with it; the truth is in the arena.
 * Each part looks for a takeable word of the current stage, claims it, does the work and publishes
 * it. */
#ifndef CSE_WORKERS_WORK_H
#define CSE_WORKERS_WORK_H

#include "workers/arena.h"
#include "workers/killpoint.h"
#include "workers/ring.h"

/* How far this process has looked through the words of one stage, in one step. */
typedef struct cse_work_cursor {
    int64_t number; /* step + 1 that the rest is about */
    int next;       /* where to look for something takeable */
    int complete;   /* all before are done */
} cse_work_cursor;

struct cse_work {
    cse_cluster *cluster;
    cse_executable *executable;
    const cse_graph *graph;
    const cse_microbatch_source *source;
    int slot, incarnation;
    bool failed;
    bool blocked; /* nothing was done as nobody takes what was made before */
    bool sampled; /* the step at hand is */
    uint32_t bell_seen, wait_events;
    cse_frame frame;

    /* COMPUTE: the tree's nodes for the present number of replicas, and the piece at hand. */
    cse_tree_node *pieces;
    int piece_count, pieces_for, own_first, own_end;
    cse_work_cursor piece_cursor;
    bool holding;
    cse_tree_node piece;
    int folded, held;                       /* leaves so far; partial sums they are in */
    cse_leaves held_leaves[32];             /* of each partial sum */
    int64_t wait_since_ns;                  /* 0: not waiting for input */
    unsigned char *workspace, *sums, *leaf; /* private memory */
    size_t workspace_bytes, sums_bytes;

    cse_work_cursor reduce_cursor, update_cursor;
    cse_join join;
    int64_t join_number;
    unsigned char *joined;   /* sums of one update chunk's lines */
    int64_t *direct_offsets; /* by group; see sums.h */

    cse_ring_view ring;
};

/* Each does at most one unit of its kind at the step word `step`; false: nothing there to do. */
bool cse_work_compute(cse_work *work, uint64_t step);
bool cse_work_reduce(cse_work *work, uint64_t step);
bool cse_work_norm(cse_work *work, uint64_t step);
bool cse_work_update(cse_work *work, uint64_t step);
/* As above; a failing source sets *status. */
bool cse_work_fill(cse_work *work, uint64_t step, cse_status *status);

/* Notes what the process did in the sampled step `number` - 1; short pieces of one kind that follow
 * each other become one. */
void cse_work_note(cse_work *work, int64_t number, cse_span_kind kind, int64_t start_ns,
                   int64_t end_ns);

/* Whether every node that step `step` needs is complete. */
bool cse_work_pieces_complete(cse_work *work, uint64_t step);
/* Whether words [0, count) are all done for cursor->number. */
bool cse_work_words_complete(const cse_word *words, int count, cse_work_cursor *cursor);
/* Claims a takeable one of words [0, count), or returns -1. */
int cse_work_take(cse_work *work, cse_word *words, int count, cse_work_cursor *cursor);

/* Moves the step word on when its stage is complete. False: it is not. */
bool cse_work_advance(cse_work *work, uint64_t step);

#endif
