/* Creating and mapping the arena: sizes first, then one file, then the constants. The head's magic
 * is written last, so a process that maps the file too early sees no arena. */
#include "workers/arena/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/execute/tensor_statistics.h"
#include "workers/arena/sums.h"

static const char magic[8] = "csearena";

enum { HEAD_BYTES = 4096, PAGE_BYTES = 4096 };

static int64_t aligned(int64_t bytes, int64_t to)
{
    return (bytes + to - 1) / to * to;
}

static int64_t chunks_of(int64_t total, int64_t least, int64_t unit, int64_t *size)
{
    int64_t each = aligned((total + CSE_MOST_CHUNKS - 1) / CSE_MOST_CHUNKS, unit);
    *size = each > least ? each : least;
    return (total + *size - 1) / *size;
}

static cse_status check_groups(const cse_graph *graph, int64_t *lines)
{
    *lines = 0;
    for (int i = 0; i < graph->group_count; i++) {
        const cse_group *group = &graph->groups[i];
        if (group->part != CSE_PART_UPDATE)
            continue;
        if (group->first_line != *lines || group->elements < 1)
            return cse_fail(CSE_INTERNAL,
                            "update group %d: starts at line %lld, but the groups before it end at "
                            "line %lld",
                            i, (long long)group->first_line, (long long)*lines);
        int assigns = 0;
        for (int n = 0; n < group->node_count; n++)
            assigns += group->nodes[n]->op == &cse_op_assign;
        if (assigns > CSE_MAX_ASSIGNS)
            return cse_fail(CSE_INTERNAL, "update group %d assigns %d states; at most %d", i,
                            assigns, CSE_MAX_ASSIGNS);
        *lines += cse_group_lines(group);
    }
    return CSE_OK;
}

static cse_status check_counts(const cse_cluster_layout *layout)
{
    const cse_graph *graph = layout->graph;
    int64_t slots =
        (int64_t)layout->replica_count + layout->weight_server_count + layout->input_worker_count;
    if (layout->replica_count < 1 || layout->weight_server_count < 0 ||
        layout->input_worker_count < 0 || slots > CSE_MAX_SLOTS)
        return cse_fail(
            CSE_CONFIG,
            "cluster: %d replicas, %d weight servers and %d input workers: accepted are "
            "at least one replica and at most %d processes in all",
            layout->replica_count, layout->weight_server_count, layout->input_worker_count,
            CSE_MAX_SLOTS);
    if (!cse_payload_possible(layout->weight_grad_reduce))
        return cse_fail(CSE_CONFIG,
                        "weight_grad_reduce: sums are not kept in %s%s; accepted: fp32, bf16, "
                        "bf16sr, fp16, cb16",
                        cse_dtype_name(layout->weight_grad_reduce.format),
                        layout->weight_grad_reduce.stochastic ? ", stochastically rounded" : "");
    if (graph->microbatch_count < 1 || graph->microbatch_count > 1 << 20)
        return cse_fail(CSE_CONFIG,
                        "cluster: a step of %d microbatches; accepted are 1 to %d: choose a larger "
                        "micro_batch_size",
                        graph->microbatch_count, 1 << 20);
    if (layout->ring_microbatches && layout->ring_microbatches < graph->microbatch_count)
        return cse_fail(CSE_CONFIG,
                        "cluster: an input ring of %d microbatches cannot hold the %d of one step",
                        layout->ring_microbatches, graph->microbatch_count);
    const int64_t most = ((int64_t)1 << 39) / graph->microbatch_count;
    if (layout->first_step < 0 || layout->num_steps < 0 || layout->first_step > most ||
        layout->num_steps > most - layout->first_step)
        return cse_fail(
            CSE_CONFIG, "cluster: steps from %lld on, %lld of them: at most %lld in all",
            (long long)layout->first_step, (long long)layout->num_steps, (long long)most);
    return CSE_OK;
}

static int allowed_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Steps whose input is prefetched: enough that an input worker sleeps through several of them, as
 * long as that is little memory. */
static int prefetched_steps(const cse_graph *graph)
{
    enum { LEAST = 2, MOST = 8, LITTLE_BYTES = 16 << 20 };
    int64_t step_bytes = graph->space_bytes[CSE_SPACE_INPUT] * graph->microbatch_count;
    int64_t steps = step_bytes > 0 ? LITTLE_BYTES / step_bytes : MOST;
    return (int)(steps < LEAST ? LEAST : steps > MOST ? MOST : steps);
}

/* Everything in the head besides the offsets. */
static cse_status describe(const cse_cluster_layout *layout, cse_arena_head *head)
{
    const cse_graph *graph = layout->graph;
    CSE_TRY(check_counts(layout));
    CSE_TRY(check_groups(graph, &head->update_lines));
    head->version = CSE_ARENA_VERSION;
    head->cores = allowed_cores();
    head->seed = layout->seed;
    head->first_step = layout->first_step;
    head->replicas = layout->replica_count;
    head->weight_servers = layout->weight_server_count;
    head->input_workers = layout->input_worker_count;
    head->microbatches = graph->microbatch_count;
    head->tree_places = cse_tree_places(graph->microbatch_count);
    head->record_count = layout->record_count > 0 ? layout->record_count : CSE_DEFAULT_RECORDS;
    head->ring_count = layout->ring_microbatches > 0
                           ? layout->ring_microbatches
                           : prefetched_steps(graph) * graph->microbatch_count;
    head->payload = (int32_t)layout->weight_grad_reduce.format;
    head->payload_stochastic = layout->weight_grad_reduce.stochastic;
    head->micro_batch_size = graph->micro_batch_size;
    head->partial_bytes = graph->space_bytes[CSE_SPACE_PARTIAL];
    head->state_bytes = graph->space_bytes[CSE_SPACE_STATE];
    head->input_bytes = graph->space_bytes[CSE_SPACE_INPUT];
    head->fetch_bytes = graph->space_bytes[CSE_SPACE_FETCH];
    head->weights_bytes = graph->space_bytes[CSE_SPACE_WEIGHTS];
    head->partial_elements = head->partial_bytes / 4;
    head->statistics_every = graph->tracked_count > 0 ? layout->statistics_every : 0;
    if (head->statistics_every > 0)
        head->statistics_bytes = graph->tracked_count * (int64_t)sizeof(cse_tensor_statistics);
    head->statistics_stride = aligned(head->statistics_bytes, 64);
    head->partial_statistics = aligned(head->partial_bytes, 64);
    head->partial_stride = aligned(head->partial_statistics + head->statistics_bytes, PAGE_BYTES);
    head->input_stride = aligned(head->input_bytes, 64);
    head->record_stride = aligned((int64_t)sizeof(cse_record_slot) + head->fetch_bytes, 64);
    /* Of so many steps in a row so many are observed, at most. */
    if (head->statistics_every > 0)
        head->statistics_count = head->record_count / head->statistics_every + 1;
    head->group_count = graph->group_count;
    head->joined_bytes = cse_sums_joined_bytes(graph);
    head->reduce_chunks = (int32_t)chunks_of(head->joined_bytes / 4, CSE_REDUCE_CHUNK_ELEMENTS,
                                             CSE_JOIN_BLOCK, &head->reduce_chunk_elements);
    head->update_chunks = (int32_t)chunks_of(head->update_lines, CSE_UPDATE_CHUNK_LINES, 1,
                                             &head->update_chunk_lines);
    if (head->update_chunk_lines > 0xffff)
        return cse_fail(CSE_CONFIG,
                        "cluster: %lld lines of states are more than the arena's words "
                        "can count",
                        (long long)head->update_lines);
    int compute = layout->replica_count + layout->weight_server_count;
    head->spin_ns = compute <= head->cores ? CSE_SPIN_NS : 0;
    return CSE_OK;
}

static int64_t place(int64_t *total, int64_t bytes, int64_t alignment)
{
    int64_t at = aligned(*total, alignment);
    *total = at + bytes;
    return at;
}

static void arrange(cse_arena_head *head)
{
    const int64_t word = sizeof(cse_word);
    int64_t total = HEAD_BYTES;
    int64_t slots = head->replicas + head->weight_servers + head->input_workers;
    head->at_step = place(&total, word, 64);
    head->at_doorbell = place(&total, word, 64);
    head->at_control = place(&total, sizeof(cse_control), 64);
    head->at_norm = place(&total, word, 64);
    head->at_slots = place(&total, slots * (int64_t)sizeof(cse_slot), 64);
    head->at_nodes = place(&total, head->tree_places * word, 64);
    head->at_reduce = place(&total, head->reduce_chunks * word, 64);
    head->at_update = place(&total, head->update_chunks * word, 64);
    head->at_progress = place(&total, head->update_chunks * word, 64);
    head->at_ring = place(&total, head->ring_count * word, 64);
    head->at_segments = place(&total, head->segment_count * (int64_t)sizeof(cse_segment), 64);
    head->at_undo = place(&total, slots * 2 * CSE_UNDO_LINE_BYTES, PAGE_BYTES);
    head->at_records = place(&total, head->record_count * head->record_stride, PAGE_BYTES);
    head->at_statistics =
        place(&total, head->statistics_count * head->statistics_stride, PAGE_BYTES);
    head->at_kernels = place(&total,
                             (head->replicas + head->weight_servers) * head->group_count *
                                 (int64_t)sizeof(cse_kernel_runs),
                             PAGE_BYTES);
    head->at_weights = place(&total, head->weights_bytes, PAGE_BYTES);
    head->at_reduced = place(&total, head->partial_bytes, PAGE_BYTES);
    head->at_states = place(&total, head->state_bytes, PAGE_BYTES);
    head->at_input = place(&total, head->ring_count * head->input_stride, PAGE_BYTES);
    head->sparse_from = place(&total, 0, PAGE_BYTES);
    head->at_partials = place(&total, head->microbatches * head->partial_stride, PAGE_BYTES);
    head->total_bytes = aligned(total, PAGE_BYTES);
}

static void bind(cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    unsigned char *base = cluster->base;
    cluster->step = (cse_word *)(void *)(base + head->at_step);
    cluster->doorbell = (_Atomic uint32_t *)(void *)(base + head->at_doorbell);
    cluster->control = (cse_control *)(void *)(base + head->at_control);
    cluster->norm = (cse_word *)(void *)(base + head->at_norm);
    cluster->slots = (cse_slot *)(void *)(base + head->at_slots);
    cluster->nodes = (cse_word *)(void *)(base + head->at_nodes);
    cluster->reduce = (cse_word *)(void *)(base + head->at_reduce);
    cluster->update = (cse_word *)(void *)(base + head->at_update);
    cluster->progress = (cse_word *)(void *)(base + head->at_progress);
    cluster->ring = (cse_word *)(void *)(base + head->at_ring);
    cluster->segments =
        (cse_segments){ .items = (const cse_segment *)(const void *)(base + head->at_segments),
                        .count = head->segment_count,
                        .payload = { (cse_dtype)head->payload, head->payload_stochastic != 0 },
                        .seed = head->seed };
}

static cse_status reserve(int descriptor, int64_t from, int64_t bytes)
{
    int error = bytes > 0 ? posix_fallocate(descriptor, from, bytes) : 0;
    if (error)
        return cse_fail(CSE_TEMPORARY, "cluster: no shared memory for another %lld bytes: %s",
                        (long long)bytes, strerror(error));
    return CSE_OK;
}

cse_status cse_arena_reserve_partial(cse_cluster *cluster, int leaf)
{
    const cse_arena_head *head = cluster->head;
    return reserve(cluster->descriptor, head->at_partials + leaf * head->partial_stride,
                   head->partial_stride);
}

cse_status cse_arena_reserve_pieces(cse_cluster *cluster, int replicas)
{
    const int leaves = cluster->head->microbatches;
    cse_tree_node *pieces = cse_malloc((size_t)leaves * sizeof *pieces);
    cse_status status = CSE_OK;
    for (int r = 0; r < replicas && status == CSE_OK; r++) {
        int first, end;
        cse_tree_share(leaves, replicas, r, &first, &end);
        int count = cse_tree_pieces(leaves, first, end, pieces);
        for (int i = 0; i < count && status == CSE_OK; i++)
            status = cse_arena_reserve_partial(cluster, pieces[i].first);
    }
    free(pieces);
    return status;
}

static int plan_for(const cse_arena_head *head)
{
    return head->replicas < head->microbatches ? head->replicas : head->microbatches;
}

/* The first values of what is not constant. Words of a step start as done for all steps before. */
static void start(cse_cluster *cluster, const cse_cluster_layout *layout)
{
    const cse_arena_head *head = cluster->head;
    const int64_t before = layout->first_step;
    const uint64_t done = cse_word_terminal(before, CSE_WORD_DONE);
    for (int i = 0; i < head->tree_places; i++)
        atomic_init(&cluster->nodes[i].value, done);
    for (int i = 0; i < head->reduce_chunks; i++)
        atomic_init(&cluster->reduce[i].value, done);
    for (int i = 0; i < head->update_chunks; i++)
        atomic_init(&cluster->update[i].value, done);
    atomic_init(&cluster->norm->value, done);
    for (int i = 0; i < head->ring_count; i++)
        atomic_init(&cluster->ring[i].value, cse_word_terminal(0, CSE_WORD_DONE));
    atomic_init(&cluster->step->value, cse_step_make(before, CSE_STAGE_COMPUTE, plan_for(head), 0));
    atomic_init(&cluster->control->plan, plan_for(head));
    atomic_init(&cluster->control->epoch, 1);
    atomic_init(&cluster->control->closed, before);
    atomic_init(&cluster->control->released, before);
    atomic_init(&cluster->control->end, before + layout->num_steps);
    for (int i = 0; i < cse_arena_slot_count(cluster); i++) {
        cse_role kind = cse_cluster_slot_kind(cluster, i);
        int roles = kind == CSE_ROLE_REPLICA && head->weight_servers == 0
                        ? CSE_ROLE_REPLICA | CSE_ROLE_WEIGHT_SERVER
                        : (int)kind;
        atomic_init(&cluster->slots[i].roles, roles);
    }
    if (head->state_bytes)
        memcpy(cse_arena_states(cluster), layout->states, (size_t)head->state_bytes);
}

static cse_status map(cse_cluster *cluster, int64_t bytes)
{
    cluster->base =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cluster->descriptor, 0);
    if (cluster->base == MAP_FAILED) {
        cluster->base = NULL;
        return cse_fail(CSE_TEMPORARY, "cluster: cannot map %lld bytes of shared memory: %s",
                        (long long)bytes, strerror(errno));
    }
    cluster->mapped_bytes = (size_t)bytes;
    cluster->head = (const cse_arena_head *)(const void *)cluster->base;
    /* Workers do not fork with the arena, and a core dump of it would delay their death. */
    madvise(cluster->base, (size_t)bytes, MADV_DONTDUMP);
    return CSE_OK;
}

static cse_status create(const cse_cluster_layout *layout, cse_arena_head *head,
                         const cse_segment *segments, cse_cluster *cluster)
{
    arrange(head);
    cluster->descriptor = memfd_create("csengine-arena", MFD_CLOEXEC);
    if (cluster->descriptor < 0 || ftruncate(cluster->descriptor, head->total_bytes) != 0)
        return cse_fail(CSE_TEMPORARY, "cluster: no shared memory of %lld bytes: %s",
                        (long long)head->total_bytes, strerror(errno));
    CSE_TRY(reserve(cluster->descriptor, 0, head->sparse_from));
    CSE_TRY(map(cluster, head->total_bytes));
    memcpy(cluster->base, head, sizeof *head);
    bind(cluster);
    CSE_TRY(cse_arena_reserve_pieces(cluster, plan_for(head)));
    memcpy(cluster->base + head->at_segments, segments,
           (size_t)head->segment_count * sizeof *segments);
    start(cluster, layout);
    CSE_COMPILER_BARRIER();
    memcpy(cluster->base, magic, sizeof magic);
    return CSE_OK;
}

cse_status cse_cluster_create(const cse_cluster_layout *layout, cse_cluster **result)
{
    _Static_assert(sizeof(cse_arena_head) <= HEAD_BYTES, "the head has one page");
    cse_arena_head head = { .total_bytes = 0 };
    *result = NULL;
    CSE_TRY(describe(layout, &head));
    cse_segment *segments = cse_malloc(((size_t)layout->graph->node_count + 1) * sizeof *segments);
    cse_status status =
        cse_segments_find(layout->graph, layout->weight_grad_reduce, segments, &head.segment_count);
    cse_cluster *cluster = cse_calloc(1, sizeof *cluster);
    cluster->descriptor = -1;
    cluster->graph = layout->graph;
    if (status == CSE_OK) {
        head.exact =
            cse_segments_exact((cse_segments){ .items = segments, .count = head.segment_count });
        status = create(layout, &head, segments, cluster);
    }
    free(segments);
    if (status != CSE_OK)
        cse_cluster_destroy(&cluster);
    *result = cluster;
    return status;
}

cse_status cse_cluster_map(int descriptor, cse_cluster **result)
{
    cse_cluster *cluster = cse_calloc(1, sizeof *cluster);
    cse_arena_head head;
    struct stat status;
    *result = NULL;
    cluster->descriptor = descriptor;
    if (fstat(descriptor, &status) != 0 || status.st_size < HEAD_BYTES ||
        pread(descriptor, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, magic, sizeof magic) != 0 || head.version != CSE_ARENA_VERSION ||
        head.total_bytes != (int64_t)status.st_size) {
        cse_cluster_destroy(&cluster);
        return cse_fail(CSE_UNAVAILABLE,
                        "descriptor %d is not a cluster's arena of version %d: start workers from "
                        "the same installation as their coordinator",
                        descriptor, CSE_ARENA_VERSION);
    }
    cse_status result_status = map(cluster, head.total_bytes);
    if (result_status != CSE_OK) {
        cse_cluster_destroy(&cluster);
        return result_status;
    }
    bind(cluster);
    *result = cluster;
    return CSE_OK;
}

void cse_cluster_destroy(cse_cluster **cluster)
{
    if (!*cluster)
        return;
    if ((*cluster)->base)
        munmap((*cluster)->base, (*cluster)->mapped_bytes);
    if ((*cluster)->descriptor >= 0)
        close((*cluster)->descriptor);
    free(*cluster);
    *cluster = NULL;
}

void cse_arena_wake(cse_cluster *cluster, uint32_t events)
{
    atomic_fetch_add(cluster->doorbell, 1);
    uint32_t wanted = atomic_load(&cluster->control->sleeping);
    for (int i = 0; i < cse_arena_slot_count(cluster); i++)
        wanted |= atomic_load(&cluster->slots[i].sleeping);
    if (wanted & events)
        syscall(SYS_futex, cluster->doorbell, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, events);
}

void cse_arena_sleep(cse_cluster *cluster, _Atomic uint32_t *sleeping, uint32_t events,
                     uint32_t seen, int64_t timeout_ns)
{
    int64_t until = cse_clock_ns() + timeout_ns;
    struct timespec deadline = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
    atomic_store(sleeping, events);
    if (atomic_load(cluster->doorbell) == seen)
        syscall(SYS_futex, cluster->doorbell, FUTEX_WAIT_BITSET, seen, &deadline, NULL, events);
    atomic_store(sleeping, 0);
}

cse_update_part cse_arena_update_part(const cse_cluster *cluster, const cse_graph *graph, int chunk,
                                      int64_t line)
{
    const int64_t chunk_first = chunk * cluster->head->update_chunk_lines;
    const int64_t chunk_end = chunk_first + cluster->head->update_chunk_lines;
    for (int i = 0; i < graph->group_count; i++) {
        const cse_group *group = &graph->groups[i];
        if (group->part != CSE_PART_UPDATE)
            continue;
        int64_t lines = cse_group_lines(group);
        int64_t end = group->first_line + lines < chunk_end ? group->first_line + lines : chunk_end;
        if (chunk_first + line >= end || group->first_line > chunk_first + line)
            continue;
        return (cse_update_part){ .group = i,
                                  .first = chunk_first + line - group->first_line,
                                  .end = end - group->first_line,
                                  .chunk_line = line };
    }
    return (cse_update_part){ .group = -1 };
}
