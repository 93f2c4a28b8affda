/* Internals of a worker's loop: the state of one process, and the parts of a step it can do.
 *
 * Everything here is private to the process and may be lost with it; all shared state is in the
 * arena. Each part looks for a word of the current stage that can be claimed, claims it, does the
 * work and publishes it. */
#ifndef CSE_WORKERS_WORKER_WORK_STATE_H
#define CSE_WORKERS_WORKER_WORK_STATE_H

#include "engine/code/execute/execute.h"
#include "engine/code/execute/tensor_statistics.h"
#include "workers/arena/node_plan.h"
#include "workers/arena/step_segments.h"
#include "workers/arena/worker_side.h"
#include "workers/worker/loader_source.h"

/* How far this process has looked through the words of one stage, in one step. */
typedef struct cse_work_cursor {
    int64_t sequence; /* step + 1 of the other members */
    int next;         /* where to look for a word to claim */
    int complete;     /* all words before are done */
} cse_work_cursor;

/* The partial sums of a node that is computed. */
typedef struct cse_work_sums {
    int added;                       /* microbatch gradients so far */
    int count;                       /* partial sums that hold them */
    cse_microbatch_range ranges[32]; /* their microbatches */
} cse_work_sums;

typedef struct cse_work {
    cse_cluster *cluster;
    cse_executable *executable;
    const cse_graph *graph;
    const cse_microbatch_source *source;
    int slot, incarnation;
    cse_status status; /* of a failure; CSE_OK before */
    bool blocked;      /* no work, since the output is not taken */
    bool sampled;      /* this step's times are recorded */
    uint32_t doorbell_seen, wait_events;
    cse_frame frame;

    /* COMPUTE: the nodes that the step's number of replicas computes, in the order of their
     * microbatches, and the node that this process has claimed. */
    cse_node_plan plan;
    cse_work_cursor node_cursor;
    bool computing; /* a node is claimed */
    cse_tree_node node;
    cse_work_sums sums;
    /* By layers (work_layers.c): the segment that the microbatches of the node go through, and the
     * one of them that is next. No segments: each goes through all groups, sums.added is next. */
    cse_step_segments segments;
    int segment, at;
    int64_t folded;        /* elements of the gradient in hand that the sums contain */
    int64_t told;          /* of them, by a ring of the doorbell */
    int64_t *final;        /* by group: see final_elements.h; NULL: sums are added at the end */
    int64_t wait_since_ns; /* 0: not waiting for input */
    unsigned char *sums_memory, *gradient; /* private: all sums but the first; one gradient */
    unsigned char *workspace;
    int64_t prepared; /* sequence of the step whose per_step results the workspace holds */
    size_t workspace_bytes, sums_memory_bytes;
    size_t workspace_stride; /* by layers each microbatch has a workspace */

    /* REDUCE, UPDATE */
    cse_work_cursor reduce_cursor, update_cursor;
    cse_join join;
    int64_t join_sequence;
    unsigned char *joined;   /* sums of one update chunk's lines */
    int64_t *direct_offsets; /* by group; see sums.h */

    /* Tensor statistics; NULL when no step takes them. */
    cse_tensor_statistics *statistics; /* of the current node */
    unsigned char *statistics_memory;
    size_t statistics_memory_bytes;
    cse_statistics_collector collector;
    struct cse_value_log *values; /* of the options */
    float *proposed;              /* new states of one part, not stored */

    int64_t *group_ns; /* times of one run, by group */

    struct cse_work_residency *residency; /* NULL: the arena is in memory */
    bool counts_only;                     /* no byte of the payload is touched */

    cse_ring_view ring;
} cse_work;

/* Each does at most one unit of its kind at the step word `step`; false when there is none. */
bool cse_work_compute(cse_work *work, uint64_t step);
/* COMPUTE: another try of a microbatch that is audited; false: none is wanted of this process.
 * `note` notes the first one, of a gradient that was computed for a sum: work_audit.c. */
bool cse_work_audit(cse_work *work, uint64_t step);
void cse_work_audit_note(cse_work *work, int microbatch, const unsigned char *gradient);
bool cse_work_reduce(cse_work *work, uint64_t step);
bool cse_work_norm(cse_work *work, uint64_t step);
bool cse_work_update(cse_work *work, uint64_t step);
/* As above; a failing source sets work->status. */
bool cse_work_fill(cse_work *work, uint64_t step);

/* Runs REPLICA or WEIGHTS with the worker's frame, or lines of an UPDATE group; in a sampled step,
 * records how long each kernel took. See work_run.c. */
void cse_work_run_program(cse_work *work, cse_part part);
void cse_work_run_update(cse_work *work, int group, const int64_t lines[2],
                         const cse_undo_log *undo);

/* The partial sums of the claimed node: work_fold.c. `begin` starts with none; `gradient` is where
 * REPLICA stores the next gradient, `watch` prepares for its run, and `fold` adds it. */
void cse_work_fold_begin(cse_work *work);
unsigned char *cse_work_gradient(cse_work *work);
void cse_work_fold_watch(cse_work *work);
void cse_work_fold(cse_work *work);

/* By layers: `enter` sets what the next microbatch in the segment runs with, `leave` goes on behind
 * it, gives back what is not kept, and says whether the node is computed: work_layers.c. */
void cse_work_enter_segment(cse_work *work);
bool cse_work_leave_segment(cse_work *work);
static inline bool cse_work_is_by_layers(const cse_work *work)
{
    return work->segments.count > 0;
}

/* Sets the cursors for the current step. */
void cse_work_place_cursors(cse_work *work, uint64_t step);
/* Whether every node that step `step` needs is complete. */
/* The nodes of the tree that the step has for this worker, its own share first. */
void cse_work_plan_nodes(cse_work *work, uint64_t step);
bool cse_work_nodes_complete(cse_work *work, uint64_t step);
/* Claims one of words [0, count) and returns its index, or -1 when none can be claimed. */
int cse_work_take(cse_work *work, cse_word *words, int count, cse_work_cursor *cursor);
/* Advances the step word if its stage is complete; else returns false. */
bool cse_work_advance(cse_work *work, uint64_t step);

/* The frame of WEIGHTS and UPDATE at a step. */
cse_frame *cse_work_frame_for(cse_work *work, uint64_t step);
/* Makes the plan for joining this step's partial sums, once per step. */
void cse_work_plan_join(cse_work *work, int64_t sequence);
/* Joins this step's partial sums for lines of an UPDATE group, and returns the base address from
 * which the group reads them. */
unsigned char *cse_work_sums_of(cse_work *work, uint64_t step, cse_update_part part);

/* Allocates memory for tensor statistics (work_statistics.c); none when no step takes them. */
cse_status cse_work_statistics_prepare(cse_work *work);
void cse_work_statistics_release(cse_work *work);
/* Around the computation of a node: `begin` clears the counts, `end` copies them into the arena,
 * after the partial sum, before that is published. No effect in steps without statistics. */
void cse_work_statistics_begin(cse_work *work, int64_t step);
void cse_work_statistics_publish(cse_work *work, int64_t step);
/* Around the serial program, which may be repeated: `open` starts from the counts of the step's
 * partial sums, `close` adds those of the summed gradients, of the states and of their updates. */
void cse_work_statistics_open(cse_work *work, uint64_t step);
void cse_work_statistics_close(cse_work *work, uint64_t step);

#endif
