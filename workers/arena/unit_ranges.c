/* A group reads what cse_group_inputs says, and writes those of its nodes that are stored. */
#include "workers/arena/unit_ranges.h"

#include <stdlib.h>

#include "engine/base/arena.h"

void cse_ranges_clear(cse_ranges *ranges)
{
    free(ranges->items);
    free(ranges->inputs);
    *ranges = (cse_ranges){ 0 };
}

void cse_ranges_add(cse_ranges *ranges, int64_t first, int64_t bytes, bool written)
{
    if (bytes <= 0)
        return;
    CSE_GROW(ranges->items, ranges->count, ranges->capacity);
    ranges->items[ranges->count++] = (cse_byte_range){ first, first + bytes, written };
}

/* Finds the values that the group reads; returns how many. */
static int find_inputs(const cse_graph *graph, const cse_group *group, cse_ranges *ranges)
{
    const int count = cse_group_inputs(graph, group, ranges->inputs, ranges->input_capacity);
    if (count <= ranges->input_capacity)
        return count;
    ranges->input_capacity = count;
    ranges->inputs = cse_realloc(ranges->inputs, (size_t)count * sizeof *ranges->inputs);
    /* Inputs beyond the room were counted as often as they occur. */
    return cse_group_inputs(graph, group, ranges->inputs, count);
}

static void add_node(const cse_node *node, const cse_space_places *places, bool written,
                     cse_ranges *ranges)
{
    if (places->at[node->space] >= 0)
        cse_ranges_add(ranges, places->at[node->space] + node->offset_bytes, cse_node_bytes(node),
                       written);
}

void cse_group_ranges(const cse_graph *graph, int group, const cse_space_places *places,
                      cse_ranges *ranges)
{
    const cse_group *own = &graph->groups[group];
    const int count = find_inputs(graph, own, ranges);
    for (int i = 0; i < count; i++)
        add_node(ranges->inputs[i], places, false, ranges);
    for (int n = 0; n < own->node_count; n++)
        add_node(own->nodes[n], places, true, ranges);
}

typedef struct update_lines {
    const cse_space_places *places;
    const cse_group *group;
    const int64_t *lines;
} update_lines;

/* What lies in the lines, or a scalar. */
static void add_lines(const update_lines *of, const cse_node *node, bool written,
                      cse_ranges *ranges)
{
    const int64_t place = of->places->at[node->space];
    int64_t bytes[2];
    if (place < 0)
        return;
    if (cse_shape_elements(node->shape) == 1) {
        add_node(node, of->places, written, ranges);
        return;
    }
    cse_group_line_bytes(of->group, node, of->lines, bytes);
    cse_ranges_add(ranges, place + node->offset_bytes + bytes[0], bytes[1] - bytes[0], written);
}

void cse_update_ranges(const cse_graph *graph, int group, const int64_t lines[2],
                       const cse_space_places *places, cse_ranges *ranges)
{
    const cse_group *own = &graph->groups[group];
    const update_lines of = { places, own, lines };
    const int count = find_inputs(graph, own, ranges);
    for (int i = 0; i < count; i++)
        add_lines(&of, ranges->inputs[i], false, ranges);
    for (int n = 0; n < own->node_count; n++)
        if (own->nodes[n]->space != CSE_SPACE_NONE)
            add_lines(&of, own->nodes[n], true, ranges);
}

void cse_partial_sum_ranges(const cse_segments *segments, int64_t place, const int64_t elements[2],
                            bool written, cse_ranges *ranges)
{
    for (int i = 0; i < segments->count; i++) {
        const cse_segment *s = &segments->items[i];
        const int64_t first = elements[0] > s->first ? elements[0] : s->first;
        const int64_t last = s->first + s->count;
        const int64_t end = elements[1] < last ? elements[1] : last;
        const int64_t size = s->rounded ? 2 : 4;
        if (first < end)
            cse_ranges_add(ranges, place + s->first * 4 + (first - s->first) * size,
                           (end - first) * size, written);
    }
}
