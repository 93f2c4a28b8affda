/* Sums of what the memory plan and the head say. */
#include "workers/arena/private_memory.h"

int64_t cse_private_sums_bytes(const cse_arena_head *head)
{
    return head->resident_bytes > 0 ? 0 : cse_arena_own_sums_bytes(head);
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
