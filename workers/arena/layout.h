/* What lies in the arena, and where: the layout that every process of a cluster shares.
 *
 * Everything is reached by offsets from the start of the mapping, which each process has at another
 * address. There is nothing in it that a killed process could leave inconsistent: no pointers,
 * locks, lists or counters of things done; only words (see word.h), numbers with one writer each,
 * and payload that is written under a claim.
 *
 *     region        content                                               written by
 *     head          sizes, offsets, seed (constant)                       creator
 *     step          step, stage, replicas, flags                          anybody, compare-and-swap
 *     doorbell      futex word, only ever incremented                     anybody, any time
 *     control       plan, sampled, closed, released, stop                 coordinator
 *     norm          word of the serial stage                              claimer
 *     slots         who, roles | sleeping, idle times | failure, spans    coordinator | its process
 *     nodes         words of the reduction tree in heap order             claimer
 *     reduce,update words of chunks                                       claimer
 *     progress      line within a claimed update chunk                    claimer, then coordinator
 *     undo          old values of two lines for each slot                 the slot's process
 *     ring          words of prefetched microbatches                      claimer
 *     segments      which values of a gradient are rounded (constant)     creator
 *     records       K records: fetched values of step s at s mod K        claimer of norm
 *     statistics    tensor statistics of every n-th step                  claimer of norm
 *     kernels       how long each kernel ran in the sampled step          the slot's process
 *     weights       results of the WEIGHTS program                        claimer of norm
 *     reduced       reduced values                                        claimers of reduce chunks
 *     states        weights, optimizer state, ...                         claimers of update chunks
 *     input         D microbatches                                        claimer of the ring word
 *     partial_sums  M places; the partial sum of a node lies in the       claimer of the node
 *                   place of its first microbatch, followed by the
 *                   tensor statistics of its microbatches
 *
 * Stages of step s: COMPUTE needs every node of the partition of [0, M) by R, R from the step word;
 * REDUCE every reduce word; NORM the norm word; UPDATE every update word. When all words of the
 * stage are done for s, anybody moves the step word on by compare-and-swap; a late one fails by
 * value. The step's commit is the move to (s + 1, COMPUTE, plan); it also frees the ring's
 * microbatches of s. */
#ifndef CSE_WORKERS_ARENA_LAYOUT_H
#define CSE_WORKERS_ARENA_LAYOUT_H

#include <assert.h>

#include "workers/arena/cluster.h"
#include "workers/arena/reduce.h"
#include "workers/arena/word.h"

enum {
    CSE_ARENA_VERSION = 5,
    CSE_ARENA_HEAD_BYTES = 4096,
    CSE_REDUCE_CHUNK_ELEMENTS = 32 * 1024, /* least; larger when there would be too many chunks */
    CSE_UPDATE_CHUNK_LINES = 512,
    CSE_MOST_CHUNKS = 1024,
    CSE_UNDO_LINE_BYTES = CSE_MAX_ASSIGNS * CSE_LINE_ELEMENTS * 4,
    CSE_DEFAULT_RECORDS = 16,
    CSE_SPIN_NS = 200 * 1000,
    CSE_MOST_SPANS = 256,
    CSE_RECENT_RUNS = 26,
};

/* An interval of one process's time in a sampled step. */
typedef struct cse_work_span {
    int64_t start_ns, end_ns;
    int32_t kind; /* cse_span_kind */
    int32_t spare;
} cse_work_span;

/* What a process's runs of one kernel took in the sampled step. */
typedef struct cse_kernel_runs {
    int64_t calls, total_ns, least_ns;
    float recent_ns[CSE_RECENT_RUNS]; /* the last ones: run r at r % CSE_RECENT_RUNS */
} cse_kernel_runs;

typedef struct cse_slot {
    _Alignas(64) _Atomic uint64_t who; /* pid : 32 (0: vacant), unused : 24, incarnation : 8 */
    _Atomic int32_t roles;
    _Alignas(64) _Atomic uint32_t sleeping; /* mask of cse_doorbell_event, 0: awake */
    _Atomic int64_t input_wait_ns;
    /* Time without work: what it needs is not there, or nobody takes what it makes. */
    _Atomic int64_t idle_ns, blocked_ns;
    _Alignas(64) _Atomic int32_t failed; /* cse_status; set after the text */
    char failure[CSE_FAILURE_TEXT_BYTES];
    /* What its process did in the sampled step; no result depends on it. */
    _Alignas(64) _Atomic int64_t spans_sequence; /* step + 1 that the spans are of */
    _Atomic int32_t span_count;
    cse_work_span spans[CSE_MOST_SPANS];
    _Atomic int64_t kernels_sequence; /* as spans_sequence, of its cse_kernel_runs */
} cse_slot;

typedef struct cse_control {
    _Alignas(64) _Atomic int32_t plan; /* replicas for the next step */
    _Atomic int32_t stopping;
    _Atomic int64_t sampled;                /* step + 1 whose times are noted; 0: none */
    _Atomic int64_t closed;                 /* steps whose closures have run */
    _Atomic int64_t released;               /* steps that may change states */
    _Alignas(64) _Atomic uint32_t sleeping; /* the coordinator's own */
    _Atomic uint32_t urgent;                /* set by workers; a hint */
} cse_control;

typedef struct cse_record_slot {
    _Alignas(64) _Atomic int64_t sequence; /* step + 1; stored after the fetched values */
    _Atomic int64_t norm_done_ns;          /* clock when they were there */
    _Atomic int64_t committed_ns; /* by whoever committed, afterwards: may be of an old step */
} cse_record_slot;

typedef struct cse_arena_head {
    char magic[8];
    uint32_t version;
    int32_t cores; /* allowed to the creator */
    uint64_t seed;
    int64_t total_bytes;
    int64_t sparse_offset; /* what follows is reserved page by page when it is used */
    int64_t end_step;      /* steps to run, first_step included */
    int32_t replicas, weight_servers, input_workers;
    int32_t microbatches, tree_node_count, record_count, ring_count;
    int32_t payload, payload_stochastic; /* a cse_rounding */
    int32_t exact;                       /* boolean: no segment is rounded */
    int32_t segment_count;
    int32_t reduce_chunks, update_chunks;
    int64_t micro_batch_size;
    int64_t reduce_chunk_elements;
    int64_t joined_bytes; /* of the reduced layout, by REDUCE; see sums.h */
    int64_t update_lines, update_chunk_lines;
    int64_t gradient_bytes, state_bytes, input_bytes, fetch_bytes, weights_bytes; /* used */
    int64_t partial_sum_stride, input_stride, record_stride;                      /* aligned */
    int64_t statistics_every;                    /* 0: no step takes tensor statistics */
    int64_t statistics_bytes, statistics_stride; /* of a step */
    int64_t statistics_count;                    /* steps with statistics that may be unclosed */
    int64_t partial_sum_statistics_offset;       /* from the start of a partial sum's place */
    int64_t group_count;                         /* of the graph: kernels that are timed */
    int64_t spin_ns;
    int64_t step_offset, doorbell_offset, control_offset, norm_offset, slots_offset, nodes_offset,
        reduce_offset, update_offset, progress_offset, undo_offset, ring_offset, segments_offset,
        records_offset, statistics_offset, kernels_offset, weights_offset, reduced_offset,
        states_offset, input_offset, partial_sums_offset;
} cse_arena_head;

struct cse_cluster {
    int descriptor;
    unsigned char *base;
    size_t mapped_bytes;
    const cse_arena_head *head;
    cse_word *step, *norm, *nodes, *reduce, *update, *progress, *ring;
    _Atomic uint32_t *doorbell;
    cse_control *control;
    cse_slot *slots;
    cse_segments segments;
    const cse_graph *graph; /* the coordinator's, borrowed; NULL in workers */
};

/* Fills `head`: sizes, counts and offsets. CSE_CONFIG for counts out of range, CSE_INTERNAL for a
 * graph whose update groups do not fit the protocol. `segment_count` and `exact` are as given. */
cse_status cse_arena_describe(const cse_cluster_layout *layout, cse_arena_head *head);
/* Points the members of the view into its mapping. */
void cse_arena_bind(cse_cluster *cluster);

static inline int cse_arena_slot_count(const cse_arena_head *head)
{
    return head->replicas + head->weight_servers + head->input_workers;
}

/* Place of the partial sum whose first microbatch is `microbatch`. */
static inline unsigned char *cse_arena_partial_sum(const cse_cluster *cluster, int microbatch)
{
    assert(microbatch >= 0 && microbatch < cluster->head->microbatches);
    return cluster->base + cluster->head->partial_sums_offset +
           microbatch * cluster->head->partial_sum_stride;
}

static inline unsigned char *cse_arena_states(const cse_cluster *cluster)
{
    return cluster->base + cluster->head->states_offset;
}

static inline unsigned char *cse_arena_undo(const cse_cluster *cluster, int slot, int parity)
{
    assert(slot >= 0 && (parity == 0 || parity == 1));
    return cluster->base + cluster->head->undo_offset +
           (2 * (int64_t)slot + parity) * CSE_UNDO_LINE_BYTES;
}

/* Of a slot that computes; one for each group of the graph. */
static inline cse_kernel_runs *cse_arena_kernel_runs(const cse_cluster *cluster, int slot)
{
    assert(slot >= 0 && slot < cluster->head->replicas + cluster->head->weight_servers);
    return (cse_kernel_runs *)(void *)(cluster->base + cluster->head->kernels_offset) +
           slot * cluster->head->group_count;
}

/* The microbatch at a position of the input stream. */
static inline unsigned char *cse_arena_input(const cse_cluster *cluster, int64_t position)
{
    assert(position >= 0);
    return cluster->base + cluster->head->input_offset +
           position % cluster->head->ring_count * cluster->head->input_stride;
}

static inline cse_record_slot *cse_arena_record(const cse_cluster *cluster, int64_t step)
{
    assert(step >= 0);
    return (cse_record_slot *)(void *)(cluster->base + cluster->head->records_offset +
                                       step % cluster->head->record_count *
                                           cluster->head->record_stride);
}

static inline unsigned char *cse_arena_fetched(const cse_cluster *cluster, int64_t step)
{
    return (unsigned char *)cse_arena_record(cluster, step) + sizeof(cse_record_slot);
}

/* Steps take tensor statistics whose number, counted from 1, is a multiple. */
static inline bool cse_arena_takes_statistics(const cse_cluster *cluster, int64_t step)
{
    return cluster->head->statistics_every > 0 && (step + 1) % cluster->head->statistics_every == 0;
}

/* Statistics of such a step, one record for each tracked tensor of the graph. */
static inline struct cse_tensor_statistics *cse_arena_statistics(const cse_cluster *cluster,
                                                                 int64_t step)
{
    const cse_arena_head *head = cluster->head;
    assert(cse_arena_takes_statistics(cluster, step));
    return (struct cse_tensor_statistics *)(void *)(cluster->base + head->statistics_offset +
                                                    (step + 1) / head->statistics_every %
                                                        head->statistics_count *
                                                        head->statistics_stride);
}

/* The same of the microbatches of a partial sum. */
static inline struct cse_tensor_statistics *
cse_arena_partial_sum_statistics(const cse_cluster *cluster, const unsigned char *partial_sum)
{
    const cse_arena_head *head = cluster->head;
    const size_t start = (size_t)(partial_sum - cluster->base);
    assert(partial_sum >= cluster->base + head->partial_sums_offset);
    return (struct cse_tensor_statistics *)(void *)(cluster->base + start +
                                                    head->partial_sum_statistics_offset);
}

/* The part of an UPDATE chunk that belongs to one group. */
typedef struct cse_update_part {
    int group;          /* index in graph->groups; -1: none */
    int64_t first, end; /* lines relative to the group */
    int64_t chunk_line; /* line of the chunk that `first` is */
} cse_update_part;

/* Lines that a group of `elements` elements takes. */
static inline int64_t cse_lines_of(int64_t elements)
{
    return (elements + CSE_LINE_ELEMENTS - 1) / CSE_LINE_ELEMENTS;
}

/* The part that begins at or contains line `line` (relative to the chunk) of chunk `chunk`. */
cse_update_part cse_arena_update_part(const cse_cluster *cluster, const cse_graph *graph, int chunk,
                                      int64_t line);

#endif
