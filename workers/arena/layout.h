/* What lies in the arena, and where: the layout that every process of a cluster shares.
 *
 * Everything is reached by offsets from the start of the mapping, which each process has at another
 * address. A killed process cannot leave it inconsistent: it holds no pointers, locks, lists or
 * progress counters; only words (see word.h), numbers with one writer each, and payload that is
 * written under a claim.
 *
 *     region        content                                               written by
 *     head          sizes, offsets, seed (constant)                       creator
 *     step          step, stage, replicas, flags                          any process, by CAS
 *     doorbell      futex word, only ever incremented                     any process
 *     control       plan, sampled, closed, released, stop                 coordinator
 *     norm          word of the serial stage                              claimer
 *     slots         who, roles                                            coordinator
 *                   sleeping, idle times, position, failure, spans        the slot's process
 *     nodes         words of the reduction tree in heap order             claimer
 *     reduce,update words of the chunks of these stages                   claimer
 *     progress      line within a claimed update chunk                    claimer, then coordinator
 *     undo          old values of two lines for each slot                 the slot's process
 *     ring          words of prefetched microbatches                      claimer
 *     audit         findings, counts                                      claimers of nodes
 *     audit_places  tries of audited microbatches (audit.h)               claimer of the node
 *     hosts         the cut, lost hosts                                   coordinator
 *                   word of the sums that were sent, counts of bytes      mover
 *     asked         positions that hosts without data have asked for      mover
 *     final         how much of a node is final while it is computed      claimer of the node
 *     segments      which values of a gradient are rounded (constant)     creator
 *     state_ranges  bytes of each update chunk, and its hosts (constant)  creator
 *     gradient_ranges  which elements of pieces each host is sent (constant)  creator
 *     gathered      chunks whose parts of the states were gathered        mover
 *     data          the identity of the data files (constant)             creator
 *     records       fetched values of step s at place s mod K             claimer of norm
 *     statistics    tensor statistics of every n-th step                  claimer of norm
 *     digests       of the states of step s by update chunk, at s mod K       claimers of its words
 *     chains        the chain of digests after each step                     coordinator
 *     kernels       how long each kernel ran in the sampled step          the slot's process
 *     weights       results of the WEIGHTS program                        claimer of norm
 *     reduced       reduced values, as far as REDUCE joins them           claimers of reduce chunks
 *     states        weights, optimizer state, ...                         claimers of update chunks
 *     input         D prefetched microbatches                             claimer of ring word
 *     own_sums      of an arena in a file: what else a replica adds up    the slot's process
 *     partial_sums  M places; a node's partial sum lies in the place of   claimer of the node
 *                   its first microbatch, followed by the tensor
 *                   statistics of the node's microbatches; one more for
 *                   the root that several hosts have joined (shards.h)
 *
 * Without other hosts there is no region of hosts. Stages of step s: COMPUTE needs every node of
 * the partition of [0, M) by R, R from the step word; REDUCE every reduce word; NORM the norm word;
 * UPDATE every update word, and that all other hosts have this one's sums. When all words of the
 * stage are done for s, any process advances the step word by compare-and-swap (CAS); a second CAS
 * fails, since the value has changed. The step commits with the move to (s + 1, COMPUTE, plan),
 * which also frees the ring's microbatches of s. */
#ifndef CSE_WORKERS_ARENA_LAYOUT_H
#define CSE_WORKERS_ARENA_LAYOUT_H

#include <assert.h>

#include "workers/arena/cluster.h"
#include "workers/arena/record.h"
#include "workers/arena/reduce.h"
#include "workers/arena/word.h"

enum {
    CSE_ARENA_VERSION = 19,
    CSE_ARENA_HEAD_BYTES = 4096,
    /* Processors fetch lines in pairs: words that all processes read and some write have one. */
    CSE_HOT_BYTES = 128,
    CSE_REDUCE_CHUNK_ELEMENTS = 32 * 1024, /* at least; larger where chunks would be too many */
    CSE_UPDATE_CHUNK_LINES = 128,
    CSE_MOST_CHUNKS = 1024,
    CSE_UNDO_LINE_BYTES = CSE_MAX_ASSIGNS * CSE_LINE_ELEMENTS * 4,
    CSE_DEFAULT_RECORDS = 16,
    CSE_SPIN_NS = 200 * 1000,
    CSE_MOST_SPANS = 256,
    CSE_RECENT_RUNS = 26,
    CSE_ARENA_DIGEST_BYTES = 65,
};

/* An interval of one process's time in a sampled step. */
typedef struct cse_work_span {
    int64_t start_ns, end_ns;
    int32_t kind; /* cse_span_kind */
    int32_t spare;
} cse_work_span;

/* The times of one kernel's runs by one process in the sampled step. */
typedef struct cse_kernel_runs {
    int64_t calls, total_ns, least_ns;
    float recent_ns[CSE_RECENT_RUNS]; /* of the last runs: run r at r % CSE_RECENT_RUNS */
} cse_kernel_runs;

typedef struct cse_slot {
    _Alignas(128) _Atomic uint64_t who; /* pid : 32 (0: vacant), unused : 24, incarnation : 8 */
    _Atomic int32_t roles;
    _Atomic int64_t number; /* of its process outside of its name space; 0: not known */
    /* A mask of cse_doorbell_event, 0: awake. Who rings the doorbell reads that of each slot: alone
     * on its line, it stays in the readers' caches while the process counts its times. */
    _Alignas(128) _Atomic uint32_t sleeping;
    _Alignas(128) _Atomic int64_t input_wait_ns;
    /* Time without work: idle while input is missing, blocked while output is not taken. */
    _Atomic int64_t idle_ns, blocked_ns;
    _Atomic int64_t computed, compute_ns; /* microbatches, and how long they took */
    _Atomic int64_t disk_read_bytes, disk_written_bytes, disk_busy_ns, disk_waited_ns;
    _Alignas(64) _Atomic int32_t failed; /* cse_status; stored after `failure` */
    char failure[CSE_FAILURE_TEXT_BYTES];
    /* See audit.h: `who` of a process that was found wrong; whether processes are started no more;
     * steps after the last one in which bits of its processes were confirmed. */
    _Alignas(64) _Atomic uint64_t suspect;
    _Atomic int32_t barred;
    _Atomic int64_t confirmed;
    /* Spans of the sampled step; no result depends on them. */
    _Alignas(64) _Atomic int64_t spans_sequence; /* step + 1 of the spans */
    _Atomic int64_t position;    /* 1 + that of the microbatch filled or computed last; 0: none */
    _Atomic int64_t bad_records; /* samples that its processes have replaced */
    _Atomic int32_t span_count;
    cse_work_span spans[CSE_MOST_SPANS];
    _Atomic int64_t kernels_sequence; /* the same for its cse_kernel_runs */
} cse_slot;

typedef struct cse_control {
    _Alignas(128) _Atomic int32_t plan; /* replicas for the next step */
    _Atomic int32_t stopping;
    _Atomic int64_t sampled;                 /* step + 1 of the sampled step; 0: none */
    _Atomic int64_t closed;                  /* steps whose records' places are free again */
    _Atomic int64_t released;                /* steps that may change states */
    _Alignas(128) _Atomic uint32_t sleeping; /* the coordinator's own */
    _Atomic uint32_t urgent;                 /* set by workers to wake it; a hint */
    /* Of the step in flight, for reports, written by workers: when its COMPUTE ended; step + 1 of
     * the step whose NORM has to wait for the coordinator, and since when. */
    _Alignas(128) _Atomic int64_t computed_ns;
    _Atomic int64_t held_sequence, held_from_ns;
    _Atomic int64_t running_ns; /* steps are taken since then: waits before it are not counted */
} cse_control;

typedef struct cse_record_slot {
    _Alignas(64) _Atomic int64_t sequence; /* step + 1; stored after the fetched values */
    _Atomic int64_t norm_done_ns;          /* clock when the norm stage was done */
    _Atomic int64_t committed_ns;          /* stored after the commit: may be of an old step */
    _Atomic int64_t computed_ns, held_from_ns, held_until_ns; /* see cse_step_times */
    _Atomic uint64_t states_digest;                           /* see cse_record */
} cse_record_slot;

/* What is known of one host, and what was exchanged with it. */
typedef struct cse_arena_host {
    _Alignas(64) _Atomic int64_t steps_done; /* at least so many; as the coordinator was told */
    _Alignas(64) _Atomic int64_t refused;    /* frames, by the mover */
    /* For reports, by the mover: as cse_host_traffic. */
    _Atomic int64_t frames_sent, frames_received, bytes_sent, bytes_received;
    _Atomic int64_t connections, link_refused, retransmits;
} cse_arena_host;

/* How much of a node's partial sum is final while it is computed: see final_elements.h. */
typedef struct cse_node_elements {
    _Alignas(64) _Atomic uint64_t claim; /* the word of the node for which `count` was told */
    _Atomic int64_t count;
} cse_node_elements;

/* Of states that are cut over hosts: see state_ranges.h. */
typedef struct cse_state_range {
    int64_t first, bytes; /* in CSE_SPACE_STATE */
} cse_state_range;

typedef struct cse_state_chunk {
    int32_t ranges[3]; /* by cse_state_share: its first range; then where its last one ends */
    int32_t owners[2]; /* as many as there are copies */
} cse_state_chunk;

/* How the sums of gradients are cut over hosts: see gradient_ranges.h. */
typedef enum cse_gradient_cut {
    CSE_GRADIENTS_WHOLE,
    CSE_GRADIENTS_BY_PARTS,
    CSE_GRADIENTS_BY_STRIPES
} cse_gradient_cut;

typedef struct cse_arena_hosts {
    cse_word sent; /* all other hosts have this one's sums, and states, of the step */
    /* A cse_host_set. One who reads while it is written sees some hosts lost before others. */
    _Atomic uint64_t lost[CSE_HOST_SET_WORDS];
    _Atomic int32_t newest;     /* index in `cuts`; the other one counts before its first step */
    _Atomic int64_t exposed_ns; /* own sums complete, others' awaited; written by the mover */
    _Atomic int64_t asks;       /* how often a position was added to `asked` */
    cse_host_set data_hosts;    /* that have the data; none: all (constant) */
    cse_host_set state_owners;  /* over which states are cut (constant) */
    /* Of states that are cut over hosts. The leading host has begun to change its own in all steps
     * below; told by its mover, and by this host's coordinator. */
    _Atomic int64_t leader_ready;
    /* Of the leading host: parts are gathered as they are before step `gather` - 1; 0: none are.
     * Those of chunks first : 32 | end : 32. It is past the step that it stands at: `passed`. */
    _Atomic int64_t gather, passed;
    _Atomic uint64_t gather_chunks;
    cse_host_cut cuts[2];
    cse_arena_host hosts[CSE_MAX_HOSTS];
} cse_arena_hosts;

typedef struct cse_arena_head {
    char magic[8];
    uint32_t version;
    int32_t cores; /* allowed to the creator */
    uint64_t seed;
    int64_t total_bytes;
    int64_t sparse_offset; /* memory from here on is reserved when first used */
    int64_t end_step;      /* steps to run, first_step included */
    int32_t replicas, weight_servers, input_workers, movers;
    int32_t host, host_count; /* 0, 1: this host alone */
    int32_t microbatches, tree_node_count, record_count, ring_count;
    int32_t payload, payload_stochastic; /* a cse_rounding */
    int32_t exact;                       /* boolean: no segment is rounded */
    int32_t segment_count;
    int32_t state_copies, leader; /* of states that are cut over hosts; 0: each host has all */
    int32_t state_range_count;
    int32_t gradient_cut; /* a cse_gradient_cut */
    int32_t gradient_range_count;
    int32_t reduce_chunks, update_chunks;
    int32_t digest_count; /* of a step: update_chunks; 0: steps have no digests */
    int32_t chain_count;
    /* Of an arena in a file: the most of its bytes that are in memory; 0: it is a memfd. */
    int64_t resident_bytes;
    int32_t by_layers; /* boolean: of such an arena; see step_segments.h */
    int64_t micro_batch_size;
    int64_t reduce_chunk_elements;
    int64_t joined_bytes; /* of the reduced layout, joined by REDUCE; see sums.h */
    int64_t update_lines, update_chunk_lines;
    int64_t gradient_bytes, state_bytes, input_bytes, fetch_bytes, weights_bytes;
    int64_t partial_sum_stride, input_stride, record_stride; /* bytes, aligned */
    int64_t statistics_every;                    /* 0: no step takes tensor statistics */
    int64_t statistics_bytes, statistics_stride; /* of one step */
    int64_t statistics_count;                    /* places for such steps not closed yet */
    int64_t partial_sum_statistics_offset;       /* from the start of a partial sum */
    int64_t group_count;                         /* of the graph: kernels that are timed */
    uint64_t audit_limit;                        /* of draws: see audit.h; 0: none are audited */
    int64_t spin_ns;
    char artefact_digest[CSE_ARENA_DIGEST_BYTES]; /* of the manifest; "": any */
    int64_t data_offset, data_bytes;              /* with the zero at the end; 0: not known */
    int64_t step_offset, doorbell_offset, control_offset, norm_offset, slots_offset, nodes_offset,
        reduce_offset, update_offset, progress_offset, undo_offset, ring_offset, segments_offset,
        hosts_offset, asked_offset, final_elements_offset, audit_offset, audit_places_offset,
        records_offset, statistics_offset, state_ranges_offset, state_chunks_offset,
        gradient_ranges_offset, gradient_hosts_offset, gathered_offset, digests_offset,
        chains_offset, kernels_offset, weights_offset, reduced_offset, states_offset, input_offset,
        own_sums_offset, partial_sums_offset;
} cse_arena_head;

struct cse_cluster {
    int descriptor;
    unsigned char *base;
    size_t mapped_bytes;
    const cse_arena_head *head;
    cse_word *step, *norm, *nodes, *reduce, *update, *progress, *ring;
    _Atomic uint32_t *doorbell;
    cse_control *control;
    cse_arena_hosts *hosts; /* NULL: this host alone */
    /* Of each place of the ring: 1 + the position that another host has asked for, 0: none. */
    _Atomic int64_t *asked;
    cse_node_elements *final_elements;    /* of each node; with other hosts only */
    struct cse_arena_audit *audit;        /* with audits only */
    struct cse_audit_place *audit_places; /* by microbatch; likewise */
    cse_slot *slots;
    cse_segments segments;
    const cse_state_range *state_ranges;
    const cse_state_chunk *state_chunks;
    /* By parts: those of host h are [gradient_hosts[h], gradient_hosts[h + 1]). */
    const struct cse_element_range *gradient_ranges;
    const int32_t *gradient_hosts;
    _Atomic int64_t *gathered;             /* by update chunk: 1 + the step before which it is so */
    struct cse_state_gather *gather;       /* of the coordinator; NULL: nothing was gathered */
    const char *gather_directory;          /* borrowed; NULL: memory */
    struct cse_arena_reserving *reserving; /* reserving.h; NULL: nothing is */
    const cse_graph *graph;                /* the coordinator's, borrowed; NULL in workers */
    int64_t read; /* by the coordinator: steps whose records it was handed */
    /* The counters when the coordinator last said that steps are taken: see cse_step_times. */
    int64_t waited_before_ns, exposed_before_ns;
};

/* Fills `head`: sizes, counts and offsets. CSE_CONFIG for counts out of range, CSE_INTERNAL for a
 * graph whose update groups do not fit the protocol. `segment_count` and `exact` are as given. */
cse_status cse_arena_describe(const cse_cluster_layout *layout, cse_arena_head *head);
/* How sums of gradients would be cut over hosts; it follows from the sizes in the head. */
cse_gradient_cut cse_gradient_cut_for(const cse_arena_head *head);
/* Hosts over which states are cut: those that the execution begins with. */
cse_host_set cse_arena_state_owners(const cse_cluster_layout *layout);
/* Bytes for what REDUCE joins: none where each step has one exact partial sum, which is read where
 * it lies. */
int64_t cse_arena_reduced_bytes(const cse_arena_head *head);
/* Points the members of the view into its mapping. */
void cse_arena_bind(cse_cluster *cluster);

/* Of one replica: all partial sums but the first, and one gradient where values are rounded. */
static inline int64_t cse_arena_own_sums_bytes(const cse_arena_head *head)
{
    const int sums = cse_tree_depth(head->microbatches) - 1, gradients = head->exact ? 0 : 1;
    if (head->by_layers)
        return 0; /* they are private memory, and given back within a segment */
    return (sums + gradients) * head->partial_sum_stride;
}

static inline int cse_arena_slot_count(const cse_arena_head *head)
{
    return head->replicas + head->weight_servers + head->input_workers + head->movers;
}

/* The cut of step `step`. */
static inline const cse_host_cut *cse_arena_cut(const cse_cluster *cluster, int64_t step)
{
    const cse_arena_hosts *hosts = cluster->hosts;
    const int newest = atomic_load(&hosts->newest);
    return &hosts->cuts[step >= hosts->cuts[newest].first_step ? newest : 1 - newest];
}

static inline cse_host_set cse_arena_lost(const cse_cluster *cluster)
{
    cse_host_set set = { { 0 } };
    if (cluster->hosts == NULL)
        return set;
    for (int i = 0; i < CSE_HOST_SET_WORDS; i++)
        set.words[i] = atomic_load(&cluster->hosts->lost[i]);
    return set;
}

static inline bool cse_arena_is_lost(const cse_cluster *cluster, int host)
{
    return cluster->hosts != NULL &&
           (atomic_load(&cluster->hosts->lost[host / 64]) >> (host % 64) & 1) != 0;
}

/* Whether this host gets its microbatches from others. */
static inline bool cse_arena_lacks_data(const cse_cluster *cluster)
{
    return cluster->hosts != NULL &&
           !cse_hosts_have_data(&cluster->hosts->data_hosts, cluster->head->host);
}

/* Whether another host has asked for the microbatch at position q. */
static inline bool cse_arena_is_asked(const cse_cluster *cluster, int64_t q)
{
    return cluster->hosts != NULL &&
           atomic_load(&cluster->asked[q % cluster->head->ring_count]) == q + 1;
}

/* Place of the partial sum whose first microbatch is `microbatch`. */
static inline unsigned char *cse_arena_partial_sum(const cse_cluster *cluster, int microbatch)
{
    assert(microbatch >= 0 && microbatch < cluster->head->microbatches);
    return cluster->base + cluster->head->partial_sums_offset +
           microbatch * cluster->head->partial_sum_stride;
}

/* Of an arena in a file: the memory for all partial sums of a replica but the first. */
static inline unsigned char *cse_arena_own_sums(const cse_cluster *cluster, int slot)
{
    assert(slot >= 0 && slot < cluster->head->replicas);
    return cluster->base + cluster->head->own_sums_offset +
           slot * cse_arena_own_sums_bytes(cluster->head);
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

/* The digests of a step's states, one for each update chunk; where steps have some. */
static inline uint64_t *cse_arena_state_digests(const cse_cluster *cluster, int64_t step)
{
    const cse_arena_head *head = cluster->head;
    return (uint64_t *)(void *)(cluster->base + head->digests_offset) +
           step % head->record_count * head->digest_count;
}

/* Where the chain after so many steps stands. */
static inline cse_chain_place *cse_arena_chain(const cse_cluster *cluster, int64_t steps)
{
    const cse_arena_head *head = cluster->head;
    return (cse_chain_place *)(void *)(cluster->base + head->chains_offset) +
           steps % head->chain_count;
}

/* The kernel times of a computing slot: one entry for each group of the graph. */
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

/* Whether step `step` takes tensor statistics: every statistics_every-th does, counted from 1. */
static inline bool cse_arena_takes_statistics(const cse_cluster *cluster, int64_t step)
{
    return cluster->head->statistics_every > 0 && (step + 1) % cluster->head->statistics_every == 0;
}

/* Tensor statistics of such a step: one record for each tracked tensor of the graph. */
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

/* The same for the microbatches of one partial sum. */
static inline struct cse_tensor_statistics *
cse_arena_partial_sum_statistics(const cse_cluster *cluster, const unsigned char *partial_sum)
{
    const cse_arena_head *head = cluster->head;
    const size_t start = (size_t)(partial_sum - cluster->base);
    assert(partial_sum >= cluster->base + head->partial_sums_offset);
    return (struct cse_tensor_statistics *)(void *)(cluster->base + start +
                                                    head->partial_sum_statistics_offset);
}

/* The lines of an UPDATE chunk that belong to one group. */
typedef struct cse_update_part {
    int group;          /* index in graph->groups; -1: none */
    int64_t first, end; /* lines relative to the group */
    int64_t chunk_line; /* `first` relative to the chunk */
} cse_update_part;

/* The part that begins at or contains line `line` (relative to the chunk) of chunk `chunk`. */
cse_update_part cse_update_part_of(const cse_arena_head *head, const cse_graph *graph, int chunk,
                                   int64_t line);

static inline cse_update_part cse_arena_update_part(const cse_cluster *cluster,
                                                    const cse_graph *graph, int chunk, int64_t line)
{
    return cse_update_part_of(cluster->head, graph, chunk, line);
}

#endif
