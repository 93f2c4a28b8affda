/* Sizes first, then offsets: everything in the head is computed here, from the graph and the counts
 * of processes. */
#include "workers/arena/layout.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "engine/code/execute/tensor_statistics.h"
#include "workers/arena/audit_places.h"
#include "workers/arena/residency.h"
#include "workers/arena/stripes.h"
#include "workers/arena/sums.h"
#include "workers/hosts/state_cut.h"

enum { PAGE_BYTES = 4096 };

_Static_assert(CSE_RESIDENCY_BLOCK_BYTES % PAGE_BYTES == 0, "blocks are pages");

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
    int64_t slots = (int64_t)layout->replica_count + layout->weight_server_count +
                    layout->input_worker_count + (layout->host_count > 1);
    if (layout->replica_count < 1 || layout->weight_server_count < 0 ||
        layout->input_worker_count < 0 || slots > CSE_MAX_SLOTS)
        return cse_fail(
            CSE_CONFIG,
            "cluster: %d replicas, %d weight servers and %d input workers: accepted are "
            "at least one replica and at most %d processes in all",
            layout->replica_count, layout->weight_server_count, layout->input_worker_count,
            CSE_MAX_SLOTS);
    if (layout->host_count > 1 && (layout->host_count > CSE_MAX_HOSTS || layout->host < 0 ||
                                   layout->host >= layout->host_count || layout->cut == NULL ||
                                   layout->cut->host_count != layout->host_count ||
                                   cse_hosts_have(&layout->lost_hosts, layout->host)))
        return cse_fail(CSE_INTERNAL, "cluster: host %d of %d has no place in the cut",
                        layout->host, layout->host_count);
    if (!cse_payload_possible(layout->weight_grad_reduce))
        return cse_fail(CSE_CONFIG,
                        "weight_grad_reduce: partial sums cannot be stored in %s%s; "
                        "accepted: " CSE_CHOICES_TEXT(CSE_ROUNDINGS),
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
    if (layout->audit_fraction > 0 && layout->directory != NULL)
        return cse_fail(CSE_CONFIG,
                        "audit_fraction is %g, and the states are kept in a file: audits need them "
                        "in memory; leave out one of the two",
                        layout->audit_fraction);
    return CSE_OK;
}

static int allowed_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Steps whose input is prefetched: several, so that input workers wake rarely, but fewer where that
 * would take much memory. */
static int prefetched_steps(const cse_graph *graph)
{
    enum { LEAST = 2, MOST = 8, LITTLE_BYTES = 16 << 20 };
    int64_t step_bytes = graph->space_bytes[CSE_SPACE_INPUT] * graph->microbatch_count;
    int64_t steps = step_bytes > 0 ? LITTLE_BYTES / step_bytes : MOST;
    return (int)(steps < LEAST ? LEAST : steps > MOST ? MOST : steps);
}

static cse_status describe(const cse_cluster_layout *layout, cse_arena_head *head)
{
    const cse_graph *graph = layout->graph;
    CSE_TRY(check_counts(layout));
    CSE_TRY(check_groups(graph, &head->update_lines));
    head->version = CSE_ARENA_VERSION;
    head->cores = allowed_cores();
    head->seed = layout->seed;
    head->end_step = layout->first_step + layout->num_steps;
    if (layout->artefact_digest != NULL)
        snprintf(head->artefact_digest, sizeof head->artefact_digest, "%s",
                 layout->artefact_digest);
    if (layout->data_identity != NULL)
        head->data_bytes = (int64_t)strlen(layout->data_identity) + 1;
    head->replicas = layout->replica_count;
    head->weight_servers = layout->weight_server_count;
    head->input_workers = layout->input_worker_count;
    head->host = layout->host;
    head->host_count = layout->host_count > 1 ? layout->host_count : 1;
    head->movers = head->host_count > 1;
    head->microbatches = graph->microbatch_count;
    head->tree_node_count = cse_tree_places(graph->microbatch_count);
    head->record_count = layout->record_count > 0 ? layout->record_count : CSE_DEFAULT_RECORDS;
    head->ring_count = layout->ring_microbatches > 0
                           ? layout->ring_microbatches
                           : prefetched_steps(graph) * graph->microbatch_count;
    head->payload = (int32_t)layout->weight_grad_reduce.format;
    head->payload_stochastic = layout->weight_grad_reduce.stochastic;
    head->resident_bytes = layout->directory != NULL ? layout->resident_bytes : 0;
    head->by_layers = layout->directory != NULL && layout->by_layers;
    head->micro_batch_size = graph->micro_batch_size;
    head->gradient_bytes = graph->space_bytes[CSE_SPACE_PARTIAL];
    head->state_bytes = graph->space_bytes[CSE_SPACE_STATE];
    head->input_bytes = graph->space_bytes[CSE_SPACE_INPUT];
    head->fetch_bytes = graph->space_bytes[CSE_SPACE_FETCH];
    head->weights_bytes = graph->space_bytes[CSE_SPACE_WEIGHTS];
    head->statistics_every = graph->tracked_count > 0 ? layout->statistics_every : 0;
    if (head->statistics_every > 0)
        head->statistics_bytes = graph->tracked_count * (int64_t)sizeof(cse_tensor_statistics);
    head->statistics_stride = aligned(head->statistics_bytes, 64);
    head->partial_sum_statistics_offset = aligned(head->gradient_bytes, 64);
    head->partial_sum_stride =
        aligned(head->partial_sum_statistics_offset + head->statistics_bytes, PAGE_BYTES);
    head->input_stride = aligned(head->input_bytes, 64);
    head->record_stride = aligned((int64_t)sizeof(cse_record_slot) + head->fetch_bytes, 64);
    /* The most of record_count consecutive steps that can take statistics. */
    if (head->statistics_every > 0)
        head->statistics_count = head->record_count / head->statistics_every + 1;
    head->group_count = graph->group_count;
    if (head->gradient_bytes > 0)
        head->audit_limit = cse_audit_limit(layout->audit_fraction);
    head->joined_bytes = cse_sums_joined_bytes(graph);
    head->reduce_chunks = (int32_t)chunks_of(head->joined_bytes / 4, CSE_REDUCE_CHUNK_ELEMENTS,
                                             CSE_JOIN_BLOCK, &head->reduce_chunk_elements);
    head->update_chunks = (int32_t)chunks_of(head->update_lines, CSE_UPDATE_CHUNK_LINES, 1,
                                             &head->update_chunk_lines);
    head->digest_count = layout->state_digests ? head->update_chunks : 0;
    /* Of each record that is not free yet, and of the step before. */
    head->chain_count = head->digest_count > 0 ? head->record_count + 2 : 0;
    if (head->update_chunk_lines > 0xffff)
        return cse_fail(CSE_CONFIG,
                        "cluster: %lld lines of states are more than the arena's words "
                        "can count",
                        (long long)head->update_lines);
    int compute = layout->replica_count + layout->weight_server_count;
    head->spin_ns = compute <= head->cores ? CSE_SPIN_NS : 0;
    return CSE_OK;
}

static int count_assigns(const cse_group *group)
{
    int count = 0;
    for (int n = 0; n < group->node_count; n++)
        count += group->nodes[n]->op == &cse_op_assign;
    return count;
}

/* A range for each state that a group assigns in a chunk. */
static int count_ranges(const cse_graph *graph, const cse_arena_head *head)
{
    int count = 0;
    for (int chunk = 0; chunk < head->update_chunks; chunk++)
        for (int64_t line = 0;;) {
            const cse_update_part part = cse_update_part_of(head, graph, chunk, line);
            if (part.group < 0)
                break;
            count += count_assigns(&graph->groups[part.group]);
            line += part.end - part.first;
        }
    return count;
}

/* At most so many ranges of elements has a host for each chunk, beside one that all have. */
static int count_parts(const cse_graph *graph, const cse_arena_head *head)
{
    int count = 0;
    for (int chunk = 0; chunk < head->update_chunks; chunk++)
        for (int64_t line = 0;; count++) {
            const cse_update_part part = cse_update_part_of(head, graph, chunk, line);
            if (part.group < 0)
                break;
            line += part.end - part.first;
        }
    return count;
}

/* Where the serial program reads little, most of what is sent goes to one host alone. */
cse_gradient_cut cse_gradient_cut_for(const cse_arena_head *head)
{
    return 2 * head->joined_bytes <= head->gradient_bytes ? CSE_GRADIENTS_BY_PARTS
                                                          : CSE_GRADIENTS_BY_STRIPES;
}

static void describe_states(const cse_cluster_layout *layout, cse_arena_head *head)
{
    const cse_host_set owners = cse_arena_state_owners(layout);
    if (head->host_count == 1 || head->update_chunks == 0 || layout->state_copies == 0)
        return;
    head->state_copies = cse_state_copies(&owners, layout->state_copies);
    head->leader = layout->leader;
    head->state_range_count = count_ranges(layout->graph, head);
    if (!layout->cuts_gradients)
        return;
    head->gradient_cut = (int32_t)cse_gradient_cut_for(head);
    if (head->gradient_cut == CSE_GRADIENTS_BY_PARTS)
        head->gradient_range_count =
            head->host_count + head->state_copies * count_parts(layout->graph, head);
}

cse_host_set cse_arena_state_owners(const cse_cluster_layout *layout)
{
    cse_host_set owners = cse_hosts_first(layout->host_count);
    for (int h = 0; h < layout->host_count; h++)
        if (cse_hosts_have(&layout->lost_hosts, h))
            cse_hosts_remove(&owners, h);
    return owners;
}

static int64_t place(int64_t *total, int64_t bytes, int64_t alignment)
{
    int64_t at = aligned(*total, alignment);
    *total = at + bytes;
    return at;
}

int64_t cse_arena_reduced_bytes(const cse_arena_head *head)
{
    const bool is_never_joined = head->exact && head->microbatches == 1 && head->host_count == 1;
    return is_never_joined ? 0 : head->joined_bytes;
}

static void arrange(cse_arena_head *head)
{
    const int64_t word = sizeof(cse_word);
    const bool in_file = head->resident_bytes > 0;
    /* Blocks that come and go do not share their pages with what stays. */
    const int64_t unit = in_file ? CSE_RESIDENCY_BLOCK_BYTES : PAGE_BYTES;
    int64_t total = CSE_ARENA_HEAD_BYTES;
    int64_t slots = cse_arena_slot_count(head);
    head->step_offset = place(&total, word, CSE_HOT_BYTES);
    head->doorbell_offset = place(&total, word, CSE_HOT_BYTES);
    head->control_offset = place(&total, sizeof(cse_control), CSE_HOT_BYTES);
    head->norm_offset = place(&total, word, CSE_HOT_BYTES);
    head->slots_offset = place(&total, slots * (int64_t)sizeof(cse_slot), CSE_HOT_BYTES);
    head->nodes_offset = place(&total, head->tree_node_count * word, CSE_HOT_BYTES);
    head->reduce_offset = place(&total, head->reduce_chunks * word, 64);
    head->update_offset = place(&total, head->update_chunks * word, 64);
    head->progress_offset = place(&total, head->update_chunks * word, 64);
    head->ring_offset = place(&total, head->ring_count * word, 64);
    head->hosts_offset = place(&total, head->movers * (int64_t)sizeof(cse_arena_hosts), 64);
    head->asked_offset =
        place(&total, head->movers * head->ring_count * (int64_t)sizeof(int64_t), 64);
    head->final_elements_offset = place(
        &total, head->movers * head->tree_node_count * (int64_t)sizeof(cse_node_elements), 64);
    const int64_t audits = head->audit_limit > 0;
    head->audit_offset = place(&total, audits * (int64_t)sizeof(cse_arena_audit), CSE_HOT_BYTES);
    head->audit_places_offset =
        place(&total, audits * head->microbatches * (int64_t)sizeof(cse_audit_place), 64);
    head->segments_offset = place(&total, head->segment_count * (int64_t)sizeof(cse_segment), 64);
    const int64_t cut_chunks = head->state_copies > 0 ? head->update_chunks : 0;
    head->state_ranges_offset =
        place(&total, head->state_range_count * (int64_t)sizeof(cse_state_range), 64);
    head->state_chunks_offset = place(&total, cut_chunks * (int64_t)sizeof(cse_state_chunk), 64);
    head->gradient_ranges_offset =
        place(&total, head->gradient_range_count * (int64_t)sizeof(cse_element_range), 64);
    head->gradient_hosts_offset =
        place(&total, head->gradient_range_count > 0 ? (head->host_count + 1) * 4 : 0, 64);
    head->gathered_offset = place(&total, cut_chunks * (int64_t)sizeof(int64_t), 64);
    head->data_offset = place(&total, head->data_bytes, 64);
    head->undo_offset = place(&total, slots * 2 * CSE_UNDO_LINE_BYTES, PAGE_BYTES);
    head->records_offset = place(&total, head->record_count * head->record_stride, PAGE_BYTES);
    head->statistics_offset =
        place(&total, head->statistics_count * head->statistics_stride, PAGE_BYTES);
    head->digests_offset = place(
        &total, (int64_t)head->record_count * head->digest_count * (int64_t)sizeof(uint64_t), 64);
    head->chains_offset = place(&total, head->chain_count * (int64_t)sizeof(cse_chain_place), 64);
    head->kernels_offset = place(&total,
                                 (head->replicas + head->weight_servers) * head->group_count *
                                     (int64_t)sizeof(cse_kernel_runs),
                                 PAGE_BYTES);
    head->weights_offset = place(&total, head->weights_bytes, unit);
    head->reduced_offset = place(&total, cse_arena_reduced_bytes(head), unit);
    head->states_offset = place(&total, head->state_bytes, unit);
    head->input_offset = place(&total, head->ring_count * head->input_stride, unit);
    head->own_sums_offset =
        place(&total, in_file ? head->replicas * cse_arena_own_sums_bytes(head) : 0, unit);
    head->sparse_offset = place(&total, 0, PAGE_BYTES);
    head->partial_sums_offset =
        place(&total, (head->microbatches + (head->host_count > 2)) * head->partial_sum_stride,
              PAGE_BYTES);
    head->total_bytes = aligned(total, PAGE_BYTES);
}

cse_status cse_arena_describe(const cse_cluster_layout *layout, cse_arena_head *head)
{
    CSE_TRY(describe(layout, head));
    describe_states(layout, head);
    arrange(head);
    return CSE_OK;
}

void cse_arena_bind(cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    unsigned char *base = cluster->base;
    cluster->step = (cse_word *)(void *)(base + head->step_offset);
    cluster->doorbell = (_Atomic uint32_t *)(void *)(base + head->doorbell_offset);
    cluster->control = (cse_control *)(void *)(base + head->control_offset);
    cluster->norm = (cse_word *)(void *)(base + head->norm_offset);
    cluster->slots = (cse_slot *)(void *)(base + head->slots_offset);
    cluster->nodes = (cse_word *)(void *)(base + head->nodes_offset);
    cluster->reduce = (cse_word *)(void *)(base + head->reduce_offset);
    cluster->update = (cse_word *)(void *)(base + head->update_offset);
    cluster->progress = (cse_word *)(void *)(base + head->progress_offset);
    cluster->ring = (cse_word *)(void *)(base + head->ring_offset);
    cluster->hosts =
        head->host_count > 1 ? (cse_arena_hosts *)(void *)(base + head->hosts_offset) : NULL;
    cluster->asked = (_Atomic int64_t *)(void *)(base + head->asked_offset);
    cluster->final_elements = (cse_node_elements *)(void *)(base + head->final_elements_offset);
    cluster->audit = (cse_arena_audit *)(void *)(base + head->audit_offset);
    cluster->audit_places = (cse_audit_place *)(void *)(base + head->audit_places_offset);
    const void *ranges = base + head->state_ranges_offset;
    const void *chunks = base + head->state_chunks_offset;
    cluster->state_ranges = (const cse_state_range *)ranges;
    cluster->state_chunks = (const cse_state_chunk *)chunks;
    const void *elements = base + head->gradient_ranges_offset;
    const void *by_host = base + head->gradient_hosts_offset;
    cluster->gradient_ranges = (const cse_element_range *)elements;
    cluster->gradient_hosts = (const int32_t *)by_host;
    cluster->gathered = (_Atomic int64_t *)(void *)(base + head->gathered_offset);
    cluster->segments =
        (cse_segments){ .items = (const cse_segment *)(const void *)(base + head->segments_offset),
                        .count = head->segment_count,
                        .payload = { (cse_dtype)head->payload, head->payload_stochastic != 0 },
                        .seed = head->seed };
}

/* The last group of UPDATE that begins at the line or before it; -1: there is none. These groups
 * follow one another, in the order of their lines; in a graph of the compiler nothing is behind
 * them. */
static int update_group_at(const cse_graph *graph, int64_t line)
{
    int first = 0, end = graph->group_count;
    while (end > 0 && graph->groups[end - 1].part != CSE_PART_UPDATE)
        end--;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        const cse_group *group = &graph->groups[middle];
        if (group->part != CSE_PART_UPDATE || group->first_line <= line)
            first = middle + 1;
        else
            end = middle;
    }
    return first > 0 && graph->groups[first - 1].part == CSE_PART_UPDATE ? first - 1 : -1;
}

cse_update_part cse_update_part_of(const cse_arena_head *head, const cse_graph *graph, int chunk,
                                   int64_t line)
{
    assert(chunk >= 0 && chunk < head->update_chunks && line >= 0);
    const int64_t chunk_first = chunk * head->update_chunk_lines;
    const int64_t chunk_end = chunk_first + head->update_chunk_lines;
    const int found = update_group_at(graph, chunk_first + line);
    if (found < 0)
        return (cse_update_part){ .group = -1 };
    const cse_group *group = &graph->groups[found];
    const int64_t last = group->first_line + cse_group_lines(group);
    const int64_t end = last < chunk_end ? last : chunk_end;
    if (chunk_first + line >= end)
        return (cse_update_part){ .group = -1 };
    return (cse_update_part){ .group = found,
                              .first = chunk_first + line - group->first_line,
                              .end = end - group->first_line,
                              .chunk_line = line };
}
