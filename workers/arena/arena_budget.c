/* Units are counted in the blocks that their ranges touch, with the places that the head gives. */
#include "workers/arena/arena_budget.h"

#include <string.h>

#include "workers/arena/unit_ranges.h"

enum {
    BLOCK = CSE_RESIDENCY_BLOCK_BYTES,
    /* Of the coordinator, which reads the states for a checkpoint piece by piece. */
    READ_BYTES = 1 << 20,
    MOST_SEGMENT_BYTES = 128 << 20,
};

static int64_t computing(const cse_arena_head *head)
{
    return (int64_t)head->replicas + head->weight_servers;
}

static int64_t fixed_bytes(const cse_arena_head *head)
{
    return head->weights_offset + head->own_sums_offset - head->input_offset + READ_BYTES;
}

int64_t cse_arena_budget(const cse_arena_head *head)
{
    return (head->resident_bytes - fixed_bytes(head)) / computing(head) / BLOCK * BLOCK;
}

int64_t cse_arena_segment_bytes(const cse_arena_head *head)
{
    const int64_t eighth = cse_arena_budget(head) / 8;
    return eighth < BLOCK ? BLOCK : eighth > MOST_SEGMENT_BYTES ? MOST_SEGMENT_BYTES : eighth;
}

static int64_t blocks_of(const cse_ranges *ranges)
{
    int64_t blocks = 0;
    for (int i = 0; i < ranges->count; i++)
        blocks += (ranges->items[i].end - 1) / BLOCK - ranges->items[i].first / BLOCK + 1;
    return blocks;
}

/* The most pieces that are joined at once: those of all replicas. */
static int64_t piece_count(const cse_arena_head *head)
{
    const int64_t most = (int64_t)head->replicas * cse_tree_depth(head->microbatches);
    return most < head->microbatches ? most : head->microbatches;
}

/* Blocks of additions and joins, which are of no group. */
static int64_t sum_blocks(const cse_arena_head *head)
{
    const int64_t add = 2 * 2, chunk = head->reduce_chunk_elements * 4 / BLOCK + 2;
    const int64_t join = (piece_count(head) + 1) * chunk;
    return head->reduce_chunks > 0 && join > add ? join : add;
}

static int64_t update_blocks(const cse_graph *graph, int group, const cse_arena_head *head,
                             const cse_space_places *places, cse_ranges *ranges)
{
    const int64_t lines = cse_group_lines(&graph->groups[group]);
    const int64_t most = head->update_chunk_lines < lines ? head->update_chunk_lines : lines;
    const int64_t sums = most * CSE_LINE_ELEMENTS * 4 / BLOCK + 2;
    cse_update_ranges(graph, group, (const int64_t[]){ 0, most }, places, ranges);
    /* Other lines may begin inside of a block. */
    return blocks_of(ranges) + ranges->count + piece_count(head) * sums;
}

int64_t cse_arena_least_resident(const cse_graph *graph, const cse_arena_head *head, int *group)
{
    cse_space_places places;
    cse_ranges ranges = { 0 };
    int64_t most = sum_blocks(head);
    memset(&places, 0xff, sizeof places);
    places.at[CSE_SPACE_STATE] = head->states_offset;
    places.at[CSE_SPACE_WEIGHTS] = head->weights_offset;
    places.at[CSE_SPACE_REDUCED] = head->reduced_offset;
    places.at[CSE_SPACE_PARTIAL] = head->partial_sums_offset;
    *group = -1;
    for (int g = 0; g < graph->group_count; g++) {
        int64_t blocks;
        ranges.count = 0;
        if (graph->groups[g].part == CSE_PART_UPDATE) {
            blocks = update_blocks(graph, g, head, &places, &ranges);
        } else {
            cse_group_ranges(graph, g, &places, &ranges);
            blocks = blocks_of(&ranges) + ranges.count;
        }
        if (blocks > most) {
            most = blocks;
            *group = g;
        }
    }
    cse_ranges_clear(&ranges);
    return fixed_bytes(head) + computing(head) * most * BLOCK;
}
