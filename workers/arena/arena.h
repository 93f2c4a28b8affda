/* What lies in the arena, and where: the layout of the protocol, shared by every file of the data
 * plane.
 *
 * Everything is reached by offsets from the start of the mapping, which each process has at another
 * address. There is nothing in it that a killed process could leave inconsistent: no pointers,
 * locks, lists or counters of things done; only words (see word.h), numbers with one writer each,
 * and payload that is written under a claim.
 *
 *     region        content                                               written by
 *     head          sizes, offsets, seed (constant)                       creator
 *     step          step, stage, replicas, flags                          anybody, compare-and-swap
 *     doorbell          futex word, only ever incremented                     anybody, any time
 *     control       plan, survey, epoch, closures, release, end, stop     coordinator
 *     norm          word of the serial stage                              claimer
 *     slots         who, roles | answered, sleeping | failure             coordinator | its process
 *     nodes         words of the tree in heap order                       claimer
 *     reduce,update words of chunks                                       claimer
 *     progress      line within a claimed update chunk                    claimer, then coordinator
 *     undo          old values of two lines for each slot                 the slot's process
 *     ring          words of prefetched microbatches                      claimer
 *     segments      which values of a leaf are rounded (constant)         creator
 *     records       K records: fetched values of step s at s mod K        claimer of norm
 *     observed      counts of observed steps (every n-th)                 claimer of norm
 *     weights       results of the WEIGHTS program                        claimer of norm
 *     reduced       reduced values                                        claimers of reduce chunks
 *     states        weights, optimizer state, ...                         claimers of update chunks
 *     input         D microbatches                                        claimer of the ring word
 *     partials      M slots; a piece lies in that of its first leaf,      claimer of the node
 *                   behind it, on observed steps, the counts of its microbatches
 *
 * Stages of step s: COMPUTE needs every node of the partition of [0, M) by R, R from the step word;
 * REDUCE every reduce word; NORM the norm word; UPDATE every update word. When all words of the
 * stage are done for s, anybody moves the step word on by compare-and-swap; a late one fails by
 * value. The step's commit is the move to (s + 1, COMPUTE, plan); it also frees the ring's
 * microbatches of s. */
#ifndef CSE_WORKERS_ARENA_ARENA_H
#define CSE_WORKERS_ARENA_ARENA_H

#include "workers/arena/cluster.h"
#include "workers/arena/reduce.h"
#include "workers/arena/reduction_tree.h"
#include "workers/arena/word.h"

enum {
    CSE_ARENA_VERSION = 4,
    CSE_REDUCE_CHUNK_ELEMENTS = 32 * 1024, /* least; larger when there would be too many chunks */
    CSE_UPDATE_CHUNK_LINES = 512,
    CSE_MOST_CHUNKS = 1024,
    CSE_UNDO_LINE_BYTES = CSE_MAX_ASSIGNS * CSE_LINE_ELEMENTS * 4,
    CSE_DEFAULT_RECORDS = 16,
    CSE_SPIN_NS = 200 * 1000,
};

/* What sleepers wait for; the doorbell is rung with a mask of what happened. */
typedef enum cse_doorbell_event {
    CSE_DOORBELL_STAGE = 1,   /* the step word moved */
    CSE_DOORBELL_COMMIT = 2,  /* a step was committed */
    CSE_DOORBELL_FILLED = 4,  /* a microbatch is there */
    CSE_DOORBELL_CONTROL = 8, /* the coordinator changed something */
    CSE_DOORBELL_RECORD = 16, /* for the coordinator, see cse_wake */
    CSE_DOORBELL_URGENT = 32,
    CSE_DOORBELL_FREED = 64, /* a good part of the input ring was freed */
} cse_doorbell_event;

/* A stretch of one process's time in a sampled step. */
typedef struct cse_work_span {
    int64_t start_ns, end_ns;
    int32_t kind; /* cse_span_kind */
    int32_t spare;
} cse_work_span;

enum { CSE_MOST_SPANS = 256, CSE_RECENT_RUNS = 26 };

/* What a process's runs of one group took in the sampled step. */
typedef struct cse_kernel_runs {
    int64_t calls, total_ns, least_ns;
    float recent_ns[CSE_RECENT_RUNS]; /* the last ones: run r at r % CSE_RECENT_RUNS */
} cse_kernel_runs;

typedef struct cse_slot {
    _Alignas(64) _Atomic uint64_t who; /* pid : 32 (0: vacant), unused : 24, incarnation : 8 */
    _Atomic int32_t roles;
    _Alignas(64) _Atomic uint32_t answered;
    _Atomic uint32_t sleeping; /* mask of cse_doorbell_event, 0: awake */
    _Atomic int64_t input_wait_ns;
    /* Time without work: what it needs is not there, or nobody takes what it makes. */
    _Atomic int64_t idle_ns, blocked_ns;
    _Alignas(64) _Atomic int32_t failed; /* cse_status; set after the text */
    char failure[CSE_FAILURE_TEXT_BYTES];
    /* What its process did in the sampled step: for people, nothing depends on it. */
    _Alignas(64) _Atomic int64_t span_number; /* step + 1 that the spans are of */
    _Atomic int32_t span_count;
    cse_work_span spans[CSE_MOST_SPANS];
    _Atomic int64_t kernels_number; /* as span_number, of its cse_kernel_runs */
} cse_slot;

typedef struct cse_control {
    _Alignas(64) _Atomic int32_t plan; /* replicas for the next step */
    _Atomic uint32_t survey;
    _Atomic uint32_t epoch; /* coordinators so far */
    _Atomic int32_t stopping;
    _Atomic int64_t sampled;                /* step + 1 whose spans are kept; 0: none */
    _Atomic int64_t closed;                 /* steps whose closures have run */
    _Atomic int64_t released;               /* steps that may change states */
    _Atomic int64_t end;                    /* steps to run */
    _Alignas(64) _Atomic uint32_t sleeping; /* the coordinator's own */
    _Atomic uint32_t urgent;                /* set by workers; a hint */
} cse_control;

typedef struct cse_record_slot {
    _Alignas(64) _Atomic int64_t number; /* step + 1; stored after the fetched values */
    _Atomic int64_t normed_ns;           /* when they were */
    _Atomic int64_t committed_ns; /* by whoever committed, afterwards: may be of an old step */
} cse_record_slot;

typedef struct cse_arena_head {
    char magic[8];
    uint32_t version;
    int32_t cores; /* allowed to the creator */
    uint64_t seed;
    int64_t total_bytes, sparse_from;
    int64_t first_step;
    int32_t replicas, weight_servers, input_workers;
    int32_t microbatches, tree_places, record_count, ring_count;
    int32_t payload, payload_stochastic; /* a cse_rounding */
    int32_t exact;                       /* boolean: no segment is rounded */
    int32_t segment_count;
    int32_t reduce_chunks, update_chunks;
    int64_t micro_batch_size;
    int64_t partial_elements, reduce_chunk_elements;
    int64_t joined_bytes; /* of the reduced layout, by REDUCE; see sums.h */
    int64_t update_lines, update_chunk_lines;
    int64_t partial_bytes, state_bytes, input_bytes, fetch_bytes, weights_bytes; /* used */
    int64_t partial_stride, input_stride, record_stride;                         /* aligned */
    int64_t statistics_every;                    /* 0: no step is observed */
    int64_t statistics_bytes, statistics_stride; /* of a step */
    int64_t statistics_count;                    /* observed steps that may be unrecorded */
    int64_t partial_statistics;                  /* offset of a piece's counts in its slot */
    int64_t group_count;                         /* of the graph: kernels that are timed */
    int64_t spin_ns;
    int64_t at_step, at_doorbell, at_control, at_norm, at_slots, at_nodes, at_reduce, at_update,
        at_progress, at_undo, at_ring, at_segments, at_records, at_weights, at_reduced, at_states,
        at_statistics, at_kernels, at_input, at_partials;
} cse_arena_head;

/* A process's view of an arena. */
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
    /* Only the coordinator has them. */
    const cse_graph *graph; /* borrowed */
};

static inline int cse_arena_slot_count(const cse_cluster *cluster)
{
    return cluster->head->replicas + cluster->head->weight_servers + cluster->head->input_workers;
}

static inline unsigned char *cse_arena_partial(const cse_cluster *cluster, int leaf)
{
    return cluster->base + cluster->head->at_partials + leaf * cluster->head->partial_stride;
}

static inline unsigned char *cse_arena_states(const cse_cluster *cluster)
{
    return cluster->base + cluster->head->at_states;
}

static inline unsigned char *cse_arena_undo(const cse_cluster *cluster, int slot, int parity)
{
    return cluster->base + cluster->head->at_undo +
           (2 * (int64_t)slot + parity) * CSE_UNDO_LINE_BYTES;
}

/* Of a slot that computes; one for each group of the graph. */
static inline cse_kernel_runs *cse_arena_kernel_runs(const cse_cluster *cluster, int slot)
{
    return (cse_kernel_runs *)(void *)(cluster->base + cluster->head->at_kernels) +
           slot * cluster->head->group_count;
}

static inline unsigned char *cse_arena_input(const cse_cluster *cluster, int64_t position)
{
    return cluster->base + cluster->head->at_input +
           position % cluster->head->ring_count * cluster->head->input_stride;
}

static inline cse_record_slot *cse_arena_record(const cse_cluster *cluster, int64_t step)
{
    return (cse_record_slot *)(void *)(cluster->base + cluster->head->at_records +
                                       step % cluster->head->record_count *
                                           cluster->head->record_stride);
}

static inline unsigned char *cse_arena_fetched(const cse_cluster *cluster, int64_t step)
{
    return (unsigned char *)cse_arena_record(cluster, step) + sizeof(cse_record_slot);
}

/* Steps are observed whose number, counted from 1, is a multiple. */
static inline bool cse_arena_takes_statistics(const cse_cluster *cluster, int64_t step)
{
    return cluster->head->statistics_every > 0 && (step + 1) % cluster->head->statistics_every == 0;
}

/* Counts of an observed step, one record for each tracked of the graph. */
static inline struct cse_tensor_statistics *cse_arena_statistics(const cse_cluster *cluster,
                                                                 int64_t step)
{
    const cse_arena_head *head = cluster->head;
    return (struct cse_tensor_statistics *)(void *)(cluster->base + head->at_statistics +
                                                    (step + 1) / head->statistics_every %
                                                        head->statistics_count *
                                                        head->statistics_stride);
}

/* The same of the microbatches of a piece. */
static inline struct cse_tensor_statistics *cse_arena_partial_statistics(const cse_cluster *cluster,
                                                                         const unsigned char *piece)
{
    size_t offset = (size_t)(piece - cluster->base) + (size_t)cluster->head->partial_statistics;
    return (struct cse_tensor_statistics *)(void *)(cluster->base + offset);
}

/* Increments the doorbell and wakes those who sleep for one of `events`. A full fence lies between the
 * caller's stores and the look at the sleepers. */
void cse_arena_wake(cse_cluster *cluster, uint32_t events);
/* Sleeps while the doorbell has the value `seen`, at most `timeout_ns`, for `events`; `sleeping` is the
 * caller's own flag. */
void cse_arena_sleep(cse_cluster *cluster, _Atomic uint32_t *sleeping, uint32_t events,
                     uint32_t seen, int64_t timeout_ns);

/* Reserves the memory of the partial slots that the pieces for `replicas` replicas lie in. */
cse_status cse_arena_reserve_pieces(cse_cluster *cluster, int replicas);
cse_status cse_arena_reserve_partial(cse_cluster *cluster, int leaf);

/* The part of an UPDATE chunk that belongs to one group. */
typedef struct cse_update_part {
    int group;          /* index in graph->groups; -1: none */
    int64_t first, end; /* lines relative to the group */
    int64_t chunk_line; /* line of the chunk that `first` is */
} cse_update_part;

/* The part that begins at or contains line `line` (relative to the chunk) of chunk `chunk`. */
cse_update_part cse_arena_update_part(const cse_cluster *cluster, const cse_graph *graph, int chunk,
                                      int64_t line);

#endif
