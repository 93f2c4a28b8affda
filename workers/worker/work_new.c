/* What a worker allocates before its loop begins; nothing is allocated in a step. */
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/base/arena.h"
#include "engine/base/float_mode.h"
#include "engine/base/pages.h"
#include "workers/arena/arena_budget.h"
#include "workers/arena/final_elements.h"
#include "workers/arena/private_memory.h"
#include "workers/arena/sums.h"
#include "workers/worker/work.h"
#include "workers/worker/work_residency.h"

enum { PAGE_BYTES = 4096 };

/* Zeroed and page-aligned; takes no memory until touched. */
static unsigned char *private_memory(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static cse_status check_graph(const cse_cluster *cluster, const cse_graph *graph)
{
    const cse_arena_head *head = cluster->head;
    int64_t lines = 0;
    for (int i = 0; i < graph->group_count; i++)
        if (graph->groups[i].part == CSE_PART_UPDATE)
            lines = graph->groups[i].first_line + cse_group_lines(&graph->groups[i]);
    if (graph->microbatch_count != head->microbatches ||
        graph->micro_batch_size != head->micro_batch_size ||
        graph->group_count != head->group_count || lines != head->update_lines ||
        graph->space_bytes[CSE_SPACE_PARTIAL] != head->gradient_bytes ||
        graph->space_bytes[CSE_SPACE_STATE] != head->state_bytes ||
        graph->space_bytes[CSE_SPACE_INPUT] != head->input_bytes ||
        graph->space_bytes[CSE_SPACE_FETCH] != head->fetch_bytes ||
        graph->space_bytes[CSE_SPACE_WEIGHTS] != head->weights_bytes)
        return cse_fail(CSE_UNAVAILABLE, "the compiled step is not the one the cluster was made "
                                         "for: recompile, or empty the compile directory");
    return CSE_OK;
}

/* What only a replica touches. By layers each microbatch has its own places, and never all of them
 * at a time. */
static void reserve_replica(cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    const int64_t workspace = work->graph->space_bytes[CSE_SPACE_REPLICA];
    const int64_t most = head->by_layers ? head->microbatches : 1;
    const int64_t sums = head->by_layers ? most - 1 + (head->exact ? 0 : most) : 0;
    work->workspace_stride = (size_t)((workspace + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    work->workspace_bytes = work->workspace_stride * (size_t)most;
    work->workspace = private_memory(work->workspace_bytes);
    work->sums_memory_bytes = head->by_layers ? (size_t)(sums * head->partial_sum_stride)
                                              : (size_t)cse_private_sums_bytes(head);
    work->sums_memory = private_memory(work->sums_memory_bytes);
    if (head->resident_bytes > 0 && !head->by_layers && work->slot < head->replicas)
        work->sums_memory = cse_arena_own_sums(work->cluster, work->slot);
    if (head->by_layers)
        cse_step_segments_find(work->graph, cse_arena_segment_bytes(head), &work->segments);
}

static cse_status prepare_compute(cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    const int depth = cse_tree_depth(head->microbatches);
    work->graph = work->executable->graph;
    CSE_TRY(check_graph(work->cluster, work->graph));
    reserve_replica(work);
    cse_pages_expect_use(work->workspace, work->workspace_bytes);
    if ((work->workspace_bytes && !work->workspace) ||
        (work->sums_memory_bytes && !work->sums_memory))
        return cse_fail(CSE_TEMPORARY,
                        "no memory for a workspace of %zu bytes and partial sums of "
                        "%zu bytes",
                        work->workspace_bytes, work->sums_memory_bytes);
    if (!head->exact)
        work->gradient =
            work->sums_memory +
            (head->by_layers ? head->microbatches - 1 : depth - 1) * head->partial_sum_stride;
    work->plan.nodes = cse_calloc((size_t)head->microbatches, sizeof *work->plan.nodes);
    work->join.steps = cse_calloc(2 * (size_t)head->microbatches, sizeof *work->join.steps);
    work->join.blocks = cse_aligned_calloc(((size_t)depth + 1) * CSE_JOIN_BLOCK * sizeof(float));
    work->joined = cse_aligned_calloc((size_t)cse_private_joined_bytes(head));
    work->direct_offsets =
        cse_calloc((size_t)work->graph->group_count + 1, sizeof *work->direct_offsets);
    work->group_ns = cse_calloc((size_t)work->graph->group_count + 1, sizeof *work->group_ns);
    if (work->cluster->hosts != NULL || head->resident_bytes > 0) {
        work->final = cse_calloc((size_t)work->graph->group_count + 1, sizeof *work->final);
        cse_final_elements(work->graph, work->final);
    }
    for (int g = 0; g < work->graph->group_count; g++)
        work->direct_offsets[g] = cse_sums_direct_offset(work->graph, g, head->joined_bytes);
    CSE_TRY(cse_work_statistics_prepare(work));
    work->frame.seed = head->seed;
    work->frame.base[CSE_SPACE_STATE] = cse_arena_states(work->cluster);
    work->frame.base[CSE_SPACE_REPLICA] = work->workspace;
    work->frame.base[CSE_SPACE_WEIGHTS] = work->cluster->base + head->weights_offset;
    return CSE_OK;
}

/* A mover follows the step and joins partial sums, and computes nothing. */
static void prepare_move(cse_work *work)
{
    const cse_arena_head *head = work->cluster->head;
    const size_t depth = (size_t)cse_tree_depth(head->microbatches);
    work->plan.nodes = cse_calloc((size_t)head->microbatches, sizeof *work->plan.nodes);
    work->join.steps = cse_calloc(2 * (size_t)head->microbatches, sizeof *work->join.steps);
    work->join.blocks = cse_aligned_calloc((depth + 1) * CSE_JOIN_BLOCK * sizeof(float));
}

cse_status cse_work_new(const cse_work_options *options, cse_work **result)
{
    cse_cluster *cluster = options->cluster;
    *result = NULL;
    if (options->slot < 0 || options->slot >= cse_cluster_slot_count(cluster))
        return cse_fail(CSE_UNAVAILABLE, "slot %d: the cluster has %d", options->slot,
                        cse_cluster_slot_count(cluster));
    cse_set_float_mode();
    cse_work *work = cse_calloc(1, sizeof *work);
    work->cluster = cluster;
    work->slot = options->slot;
    work->executable = options->executable;
    work->source = options->source;
    work->values = options->values;
    work->counts_only = options->counts_only;
    cse_status status = work->executable ? prepare_compute(work) : CSE_OK;
    if (work->executable && status == CSE_OK)
        status = cse_work_residency_new(work, options->disk);
    if (cse_cluster_slot_kind(cluster, work->slot) == CSE_ROLE_MOVER)
        prepare_move(work);
    if (status != CSE_OK)
        cse_work_destroy(&work);
    *result = work;
    return status;
}

void cse_work_destroy(cse_work **work)
{
    if (!*work)
        return;
    if ((*work)->workspace)
        munmap((*work)->workspace, (*work)->workspace_bytes);
    if ((*work)->sums_memory && (*work)->sums_memory_bytes > 0)
        munmap((*work)->sums_memory, (*work)->sums_memory_bytes);
    cse_step_segments_clear(&(*work)->segments);
    free((*work)->plan.nodes);
    free((*work)->join.steps);
    free((*work)->join.blocks);
    free((*work)->joined);
    free((*work)->direct_offsets);
    free((*work)->group_ns);
    free((*work)->final);
    cse_work_statistics_release(*work);
    cse_work_residency_destroy(*work);
    free(*work);
    *work = NULL;
}
