/* Sums of what the memory plan and the head say. */
#include "workers/arena/private_memory.h"

#include "workers/arena/arena_budget.h"
#include "workers/arena/step_segments.h"

int64_t cse_private_sums_bytes(const cse_arena_head *head)
{
    const int64_t sums = head->resident_bytes > 0 ? 0 : cse_arena_own_sums_bytes(head);
    /* An audit writes its gradient where no sum is in the making. */
    return sums == 0 && head->audit_limit > 0 ? head->partial_sum_stride : sums;
}

/* The most microbatches of a node of a replica's share. */
static int largest_node(const cse_arena_head *head)
{
    int most = 1;
    for (int replica = 0; replica < head->replicas; replica++) {
        int at, end;
        cse_tree_share(head->microbatches, head->replicas, replica, &at, &end);
        while (at < end) {
            const int next = cse_tree_next(head->microbatches, at, end);
            most = next - at > most ? next - at : most;
            at = next;
        }
    }
    return most;
}

int64_t cse_private_layers_bytes(const cse_arena_head *head, const cse_graph *graph)
{
    const int size = largest_node(head);
    cse_step_segments s;
    cse_step_segments_find(graph, cse_arena_segment_bytes(head), &s);
    const int64_t workspaces = (size - 1) * s.kept_bytes + s.touched_bytes;
    /* Of the segment's part of the sums there are as many as the counter has digits, and the
     * gradient in hand; what is begun is there of each microbatch. */
    const int64_t sums = cse_tree_depth(size) * s.sum_bytes;
    const int64_t begun = (size - (head->exact ? 1 : 0)) * s.unfinal_bytes;
    cse_step_segments_clear(&s);
    return workspaces + sums + begun;
}

int64_t cse_private_joined_bytes(const cse_arena_head *head)
{
    return head->update_chunk_lines * CSE_LINE_ELEMENTS * 4;
}

int64_t cse_private_statistics_bytes(const cse_arena_head *head, const cse_graph *graph)
{
    if (head->statistics_every == 0)
        return 0;
    return head->statistics_stride +
           (int64_t)CSE_MAX_PROPOSED * CSE_PROPOSED_ELEMENTS * (int64_t)sizeof(float) +
           graph->statistics_scratch_bytes;
}

int64_t cse_private_server_bytes(const cse_arena_head *head, const cse_graph *graph)
{
    return cse_private_joined_bytes(head) + cse_private_statistics_bytes(head, graph);
}
