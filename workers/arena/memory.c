/* The head's magic is written last, so a process that maps the file too early sees no arena. */
#include "workers/arena/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/pages.h"
#include "workers/arena/arena_file.h"
#include "workers/arena/arena_nodes.h"
#include "workers/arena/gradient_ranges.h"
#include "workers/arena/layout.h"
#include "workers/arena/node_plan.h"
#include "workers/arena/reserving.h"
#include "workers/arena/shards.h"
#include "workers/arena/slots.h"
#include "workers/arena/state_gather.h"
#include "workers/arena/state_ranges.h"

enum { PAGE_BYTES = 4096 };

static const char magic[8] = "csearena";

/* ---- memory ---- */

static cse_status reserve(const cse_cluster *cluster, int64_t from, int64_t bytes)
{
    if (bytes > 0 && cluster->head->resident_bytes > 0)
        return cse_arena_file_reserve(cluster->descriptor, from, bytes);
    int error = bytes > 0 ? posix_fallocate(cluster->descriptor, from, bytes) : 0;
    if (error)
        return cse_fail(CSE_TEMPORARY, "cluster: no shared memory for another %lld bytes: %s",
                        (long long)bytes, strerror(error));
    return CSE_OK;
}

cse_status cse_arena_reserve_partial_sum(cse_cluster *cluster, int microbatch)
{
    return reserve(cluster, cse_arena_partial_sum(cluster, microbatch) - cluster->base,
                   cluster->head->partial_sum_stride);
}

/* What this host is sent of another one's pieces in a step. */
static cse_stripes find_sent(const cse_cluster *cluster, int64_t step)
{
    const cse_arena_head *head = cluster->head;
    const cse_host_set lost = cse_arena_lost(cluster);
    const cse_host_set owners = cse_shard_owners(cse_arena_cut(cluster, step));
    return cse_step_is_sharded(cluster, step) && !cse_hosts_meet(&lost, &owners)
               ? cse_shard_of(&owners, head->host, head->gradient_bytes / 4)
               : cse_sent_elements(cluster, head->host);
}

/* For a piece that another host makes. */
static cse_status reserve_piece(const cse_cluster *cluster, int64_t step, int microbatch)
{
    cse_byte_range *spans = NULL;
    const cse_stripes sent = find_sent(cluster, step);
    const int64_t at = cse_arena_partial_sum(cluster, microbatch) - cluster->base;
    const int count = cse_sent_pages(&cluster->segments, &sent, &spans);
    cse_status status = CSE_OK;
    for (int i = 0; i < count && status == CSE_OK; i++)
        status = reserve(cluster, at + spans[i].first, spans[i].end - spans[i].first);
    free(spans);
    return status;
}

/* For all nodes of the plan of one step. */
static cse_status reserve_plan(cse_cluster *cluster, int64_t step, int replicas)
{
    cse_node_plan plan = { .nodes = cse_malloc((size_t)cluster->head->microbatches *
                                               sizeof *plan.nodes) };
    cse_status status = CSE_OK;
    cse_node_plan_make(cluster, step, replicas, 0, &plan);
    const bool is_cut = cluster->head->gradient_cut != CSE_GRADIENTS_WHOLE;
    for (int i = 0; i < plan.count && status == CSE_OK; i++)
        status = is_cut && i >= plan.claimable
                     ? reserve_piece(cluster, step, plan.nodes[i].first)
                     : cse_arena_reserve_partial_sum(cluster, plan.nodes[i].first);
    free(plan.nodes);
    if (status == CSE_OK && cse_step_is_sharded(cluster, step))
        status = reserve(cluster, cse_arena_root_sum(cluster, step) - cluster->base,
                         cluster->head->partial_sum_stride);
    return status;
}

cse_status cse_arena_reserve_partial_sums(cse_cluster *cluster, int replicas)
{
    const int64_t step = cse_step_number(cse_word_load(cluster->step));
    CSE_TRY(reserve_plan(cluster, step, replicas));
    return cluster->hosts == NULL ? CSE_OK : reserve_plan(cluster, INT64_MAX, replicas);
}

/* All but the parts of states that other hosts have. */
static cse_status reserve_fixed(cse_cluster *cluster, const cse_graph *graph)
{
    const cse_arena_head *head = cluster->head;
    cse_byte_range *absent = NULL;
    cse_status status = CSE_OK;
    int64_t from = 0;
    const int count =
        cse_states_are_cut(cluster)
            ? cse_absent_states(graph, head, &cluster->hosts->state_owners, head->host, &absent)
            : 0;
    for (int i = 0; i < count && status == CSE_OK; i++) {
        const int64_t first =
            (head->states_offset + absent[i].first + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        const int64_t end = (head->states_offset + absent[i].end) / PAGE_BYTES * PAGE_BYTES;
        if (first >= end)
            continue;
        status = reserve(cluster, from, first - from);
        from = end;
    }
    free(absent);
    return status == CSE_OK ? reserve(cluster, from, head->sparse_offset - from) : status;
}

cse_status cse_arena_reserve(cse_cluster *cluster)
{
    CSE_TRY(reserve_fixed(cluster, cluster->graph));
    return cse_arena_reserve_partial_sums(cluster, atomic_load(&cluster->control->plan));
}

static cse_status map(cse_cluster *cluster, const cse_arena_head *head)
{
    const int64_t bytes = head->total_bytes;
    void *base =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cluster->descriptor, 0);
    if (base == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "cluster: cannot map %lld bytes of shared memory: %s",
                        (long long)bytes, strerror(errno));
    cluster->base = base;
    cluster->mapped_bytes = (size_t)bytes;
    cluster->head = (const cse_arena_head *)base;
    /* A core dump of the arena would delay the end of a crashed worker. */
    madvise(base, (size_t)bytes, MADV_DONTDUMP);
    /* All before the sparse part is touched. Refused where the host gives shared memory none. */
    if (head->resident_bytes == 0)
        cse_pages_expect_use(base, (size_t)head->sparse_offset);
    /* What a fault reads around its page would be in memory beyond what residency.h counts. */
    if (head->resident_bytes > 0)
        madvise(base, (size_t)bytes, MADV_RANDOM);
    return CSE_OK;
}

/* ---- coordinator ---- */

static int first_plan(const cse_arena_head *head)
{
    return head->replicas < head->microbatches ? head->replicas : head->microbatches;
}

static void fill_words(cse_word *words, int count, int64_t sequence)
{
    for (int i = 0; i < count; i++)
        atomic_init(&words[i].value, cse_word_terminal(sequence, CSE_WORD_DONE));
}

void cse_arena_place_hosts(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    cse_arena_hosts *hosts = cluster->hosts;
    if (hosts == NULL)
        return;
    fill_words(&hosts->sent, 1, layout->first_step);
    for (int i = 0; i < CSE_HOST_SET_WORDS; i++)
        atomic_init(&hosts->lost[i], layout->lost_hosts.words[i]);
    hosts->data_hosts = layout->data_hosts;
    for (int i = 0; i < cluster->head->ring_count; i++)
        atomic_init(&cluster->asked[i], 0);
    /* What the leading host has told of an execution before counts no more. */
    atomic_init(&hosts->leader_ready, layout->first_step);
    atomic_init(&hosts->gather, 0);
    atomic_init(&hosts->passed, 0);
    atomic_init(&hosts->newest, 0);
    hosts->cuts[0] = hosts->cuts[1] = *layout->cut;
    hosts->cuts[0].first_step = hosts->cuts[1].first_step = layout->first_step;
}

/* Initialises what is not constant. The words of a step start as done for all steps before. */
static void fill(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    const cse_arena_head *head = cluster->head;
    const int64_t before = layout->first_step;
    fill_words(cluster->nodes, head->tree_node_count, before);
    fill_words(cluster->reduce, head->reduce_chunks, before);
    fill_words(cluster->update, head->update_chunks, before);
    fill_words(cluster->norm, 1, before);
    fill_words(cluster->ring, head->ring_count, 0);
    atomic_init(&cluster->step->value,
                cse_step_make(before, CSE_STAGE_COMPUTE, first_plan(head), 0));
    atomic_init(&cluster->control->plan, first_plan(head));
    atomic_init(&cluster->control->closed, before);
    atomic_init(&cluster->control->released, before);
    cluster->read = before;
    cse_arena_place_hosts(cluster, layout);
    for (int i = 0; i < cse_cluster_slot_count(cluster); i++) {
        cse_role kind = cse_cluster_slot_kind(cluster, i);
        int roles = kind == CSE_ROLE_REPLICA && head->weight_servers == 0
                        ? CSE_ROLE_REPLICA | CSE_ROLE_WEIGHT_SERVER
                        : (int)kind;
        atomic_init(&cluster->slots[i].roles, roles);
    }
    if (head->state_bytes && layout->states != NULL)
        memcpy(cse_arena_states(cluster), layout->states, (size_t)head->state_bytes);
}

/* The cut of the states over hosts, which is constant. */
static void place_states(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    const cse_arena_head *head = cluster->head;
    unsigned char *base = cluster->base;
    cse_state_range *ranges = (cse_state_range *)(void *)(base + head->state_ranges_offset);
    cse_state_chunk *chunks = (cse_state_chunk *)(void *)(base + head->state_chunks_offset);
    const cse_host_set owners = cse_arena_state_owners(layout);
    cse_state_ranges_find(layout->graph, head, ranges, chunks);
    for (int c = 0; c < head->update_chunks; c++)
        for (int copy = 0; copy < head->state_copies; copy++)
            chunks[c].owners[copy] = cse_state_owner(&owners, head->update_chunks, c, copy);
    cluster->hosts->state_owners = owners;
}

/* Likewise of the sums of gradients. */
static void place_gradients(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    const cse_arena_head *head = cluster->head;
    unsigned char *base = cluster->base;
    cse_element_range *items = (cse_element_range *)(void *)(base + head->gradient_ranges_offset);
    int32_t *by_host = (int32_t *)(void *)(base + head->gradient_hosts_offset);
    const cse_host_set owners = cse_arena_state_owners(layout);
    int count = 0;
    for (int h = 0; h < head->host_count && head->gradient_cut == CSE_GRADIENTS_BY_PARTS; h++) {
        count += cse_gradient_ranges_find(layout->graph, head, &owners, h, items + count);
        by_host[h + 1] = count;
    }
}

static cse_status create_in_memory(int64_t bytes, cse_cluster *cluster)
{
    cluster->descriptor = memfd_create("csengine-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (cluster->descriptor < 0 || ftruncate(cluster->descriptor, bytes) != 0)
        return cse_fail(CSE_TEMPORARY, "cluster: no shared memory of %lld bytes: %s",
                        (long long)bytes, strerror(errno));
    /* A process that could shrink it would end all others by SIGBUS. */
    if (fcntl(cluster->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return cse_fail(CSE_TEMPORARY, "cluster: the shared memory cannot be sealed: %s",
                        strerror(errno));
    return CSE_OK;
}

static cse_status create_in_file(const char *directory, int64_t bytes, cse_cluster *cluster)
{
    CSE_TRY(cse_arena_file_new(directory, &cluster->descriptor));
    if (ftruncate(cluster->descriptor, bytes) != 0)
        return cse_fail(CSE_IO, "states.directory: no file of %lld bytes in %s: %s",
                        (long long)bytes, directory, strerror(errno));
    return CSE_OK;
}

/* All but the magic number. */
static void place_constants(const cse_cluster_layout *layout, const cse_arena_head *head,
                            const cse_segment *segments, cse_cluster *cluster)
{
    memcpy(cluster->base, head, sizeof *head);
    cse_arena_bind(cluster);
    memcpy(cluster->base + head->segments_offset, segments,
           (size_t)head->segment_count * sizeof *segments);
    if (head->data_bytes > 0)
        memcpy(cluster->base + head->data_offset, layout->data_identity, (size_t)head->data_bytes);
}

/* Before any page is there: pages do not move. */
static void place_on_nodes(const cse_cluster_layout *layout, const cse_arena_head *head,
                           int descriptor)
{
    cse_node_ranges ranges;
    if (layout->nodes == NULL)
        return;
    cse_arena_node_ranges(layout, head, layout->nodes, &ranges);
    cse_arena_nodes_set(descriptor, head->total_bytes, &ranges);
    free(ranges.items);
}

/* The states and what is behind them. */
static cse_status reserve_rest(cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    CSE_TRY(reserve(cluster, head->states_offset, head->sparse_offset - head->states_offset));
    return cse_arena_reserve_partial_sums(cluster, first_plan(head));
}

static cse_status create(const cse_cluster_layout *layout, const cse_arena_head *head,
                         const cse_segment *segments, cse_cluster *cluster)
{
    cluster->head = head; /* until it is mapped */
    CSE_TRY(layout->directory != NULL
                ? create_in_file(layout->directory, head->total_bytes, cluster)
                : create_in_memory(head->total_bytes, cluster));
    /* Which parts of states are absent stands in the arena. */
    const bool is_cut = head->state_copies > 0;
    place_on_nodes(layout, head, cluster->descriptor);
    const bool is_later = is_cut || (layout->reserves_apart && head->resident_bytes == 0);
    CSE_TRY(reserve(cluster, 0, is_later ? head->states_offset : head->sparse_offset));
    CSE_TRY(map(cluster, head));
    place_constants(layout, head, segments, cluster);
    if (is_cut) {
        place_states(cluster, layout);
        place_gradients(cluster, layout);
        CSE_TRY(reserve_fixed(cluster, layout->graph));
    }
    fill(cluster, layout);
    CSE_TRY(is_later && !is_cut ? cse_arena_begin_reserving(cluster, reserve_rest)
                                : cse_arena_reserve_partial_sums(cluster, first_plan(head)));
    CSE_COMPILER_BARRIER();
    memcpy(cluster->base, magic, sizeof magic);
    return CSE_OK;
}

static cse_status plan(const cse_cluster_layout *layout, cse_segment *segments,
                       cse_arena_head *head)
{
    *head = (cse_arena_head){ .total_bytes = 0 };
    CSE_TRY(cse_segments_find(layout->graph, layout->weight_grad_reduce, segments,
                              &head->segment_count));
    head->exact =
        cse_segments_exact((cse_segments){ .items = segments, .count = head->segment_count });
    return cse_arena_describe(layout, head);
}

cse_status cse_arena_plan(const cse_cluster_layout *layout, cse_arena_head *head)
{
    cse_segment *segments = cse_malloc(((size_t)layout->graph->node_count + 1) * sizeof *segments);
    cse_status status = plan(layout, segments, head);
    free(segments);
    return status;
}

/* Fills `cluster` by `make` from the layout's head and segments. */
static cse_status
make_cluster(const cse_cluster_layout *layout,
             cse_status (*make)(const cse_cluster_layout *layout, const cse_arena_head *head,
                                const cse_segment *segments, cse_cluster *cluster),
             cse_cluster **result)
{
    _Static_assert(sizeof(cse_arena_head) <= CSE_ARENA_HEAD_BYTES, "the head has one page");
    cse_arena_head head;
    *result = NULL;
    cse_segment *segments = cse_malloc(((size_t)layout->graph->node_count + 1) * sizeof *segments);
    cse_cluster *cluster = cse_calloc(1, sizeof *cluster);
    cluster->descriptor = -1;
    cluster->graph = layout->graph;
    cluster->gather_directory = layout->gather_directory;
    cse_status status = plan(layout, segments, &head);
    if (status == CSE_OK)
        status = make(layout, &head, segments, cluster);
    free(segments);
    if (status != CSE_OK)
        cse_cluster_destroy(&cluster);
    *result = cluster;
    return status;
}

cse_status cse_cluster_create(const cse_cluster_layout *layout, cse_cluster **result)
{
    return make_cluster(layout, create, result);
}

static cse_status imagine(const cse_cluster_layout *layout, const cse_arena_head *head,
                          const cse_segment *segments, cse_cluster *cluster)
{
    void *base = mmap(NULL, (size_t)head->total_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "cluster: cannot map %lld bytes: %s",
                        (long long)head->total_bytes, strerror(errno));
    cluster->base = base;
    cluster->mapped_bytes = (size_t)head->total_bytes;
    cluster->head = base;
    place_constants(layout, head, segments, cluster);
    fill(cluster, layout);
    return CSE_OK;
}

cse_status cse_cluster_imagine(const cse_cluster_layout *layout, cse_cluster **result)
{
    return make_cluster(layout, imagine, result);
}

/* ---- worker ---- */

static cse_status map_checked(cse_cluster *cluster)
{
    cse_arena_head head;
    struct stat facts;
    if (fstat(cluster->descriptor, &facts) != 0 || facts.st_size < CSE_ARENA_HEAD_BYTES ||
        pread(cluster->descriptor, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, magic, sizeof magic) != 0 || head.version != CSE_ARENA_VERSION ||
        head.total_bytes != (int64_t)facts.st_size)
        return cse_fail(CSE_UNAVAILABLE,
                        "descriptor %d is not a cluster's arena of version %d: start workers from "
                        "the same installation as their coordinator",
                        cluster->descriptor, CSE_ARENA_VERSION);
    CSE_TRY(map(cluster, &head));
    cse_arena_bind(cluster);
    return CSE_OK;
}

cse_status cse_cluster_map(int descriptor, cse_cluster **result)
{
    cse_cluster *cluster = cse_calloc(1, sizeof *cluster);
    cluster->descriptor = descriptor;
    cse_status status = map_checked(cluster);
    if (status != CSE_OK)
        cse_cluster_destroy(&cluster);
    *result = cluster;
    return status;
}

/* ---- coordinator and workers ---- */

void cse_cluster_destroy(cse_cluster **cluster)
{
    if (!*cluster)
        return;
    (void)cse_arena_end_reserving(*cluster);
    cse_state_gather_destroy(&(*cluster)->gather);
    if ((*cluster)->base)
        munmap((*cluster)->base, (*cluster)->mapped_bytes);
    if ((*cluster)->descriptor >= 0)
        close((*cluster)->descriptor);
    free(*cluster);
    *cluster = NULL;
}

const char *cse_cluster_artefact_digest(const cse_cluster *cluster)
{
    const char *digest = cluster->head->artefact_digest;
    return digest[0] != '\0' ? digest : NULL;
}

const char *cse_cluster_data_identity(const cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    const char *text = (const char *)cluster->base + head->data_offset;
    return head->data_bytes > 0 && text[head->data_bytes - 1] == '\0' ? text : NULL;
}

int cse_cluster_descriptor(const cse_cluster *cluster)
{
    return cluster->descriptor;
}
