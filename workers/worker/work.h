/* Inside of a worker's loop: what one process remembers, and the parts of a step it can do.
 *
 * Everything here is private to the process and may be lost with it; the truth is in the arena.
 * Each part looks for a takeable word of the current stage, claims it, does the work and publishes
 * it. */
#ifndef CSE_WORKERS_WORKER_WORK_H
#define CSE_WORKERS_WORKER_WORK_H

#include "engine/execute/tensor_statistics.h"
#include "workers/arena/arena.h"
#include "workers/arena/failpoint.h"
#include "workers/arena/ring.h"

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
    uint32_t doorbell_seen, wait_events;
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

    /* Observed steps; NULL when there are none. */
    cse_tensor_statistics *observed; /* of the piece at hand */
    unsigned char *statistics_memory;
    size_t statistics_memory_bytes;
    cse_statistics_collector collector;
    float *proposed; /* values of one update part's nodes */

    int64_t *group_ns; /* of one timed run, by group */

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

/* Runs REPLICA or WEIGHTS with the worker's frame, or lines of an UPDATE group; in a sampled step,
 * notes how long each kernel took. See kernel_times.c. */
void cse_work_run_part(cse_work *work, cse_part part);
void cse_work_run_update(cse_work *work, int group, const int64_t lines[2],
                         const cse_undo_log *undo);

/* Whether every node that step `step` needs is complete. */
bool cse_work_pieces_complete(cse_work *work, uint64_t step);
/* Whether words [0, count) are all done for cursor->number. */
bool cse_work_words_complete(const cse_word *words, int count, cse_work_cursor *cursor);
/* Claims a takeable one of words [0, count), or returns -1. */
int cse_work_take(cse_work *work, cse_word *words, int count, cse_work_cursor *cursor);

/* Observed steps, see work_statistics.c. Allocates what they need; nothing when no step is observed.
 */
cse_status cse_work_statistics_prepare(cse_work *work);
void cse_work_statistics_release(cse_work *work);
/* Around the computation of a piece: counts begin at zero; the frame of a leaf; what was counted
 * goes behind the piece in the arena, before it is published. Do nothing on other steps. */
void cse_work_statistics_begin(cse_work *work, int64_t step);
void cse_work_statistics_publish(cse_work *work, int64_t step);
/* Around the serial program, which may be repeated: the step's counts begin as those of its pieces,
 * and its own values are added; then those of summed gradients, of states and their updates. */
void cse_work_statistics_open(cse_work *work, uint64_t step);
void cse_work_statistics_close(cse_work *work, uint64_t step);

/* Joins this step's pieces for lines of an UPDATE group and returns the base at which the group
 * finds them. */
unsigned char *cse_work_sums_of(cse_work *work, uint64_t step, cse_update_part part);
/* Makes the plan of this step's joins, once. */
void cse_work_plan_join(cse_work *work, int64_t number);
/* The frame of WEIGHTS and UPDATE at a step. */
cse_frame *cse_work_frame_for(cse_work *work, uint64_t step);

/* Moves the step word on when its stage is complete. False: it is not. */
bool cse_work_advance(cse_work *work, uint64_t step);

#endif
