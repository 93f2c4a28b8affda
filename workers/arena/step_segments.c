/* Groups are taken together as long as they are little: to leave the program costs the pages of the
 * workspace that have to come again. */
#include "workers/arena/step_segments.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/graph/passes/lifetimes.h"
#include "workers/arena/final_elements.h"

enum { PAGE_BYTES = 4096 };

/* Bytes of states that each group reads, and of the gradient that it makes. */
static void find_group_bytes(const cse_graph *graph, int64_t bytes[])
{
    cse_node **inputs = cse_calloc((size_t)graph->node_count + 1, sizeof *inputs);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        const int count = cse_group_inputs(graph, group, inputs, graph->node_count);
        for (int i = 0; i < count; i++)
            bytes[g] += inputs[i]->space == CSE_SPACE_STATE ? cse_node_bytes(inputs[i]) : 0;
        for (int n = 0; n < group->node_count; n++)
            bytes[g] +=
                group->nodes[n]->space == CSE_SPACE_PARTIAL ? cse_node_bytes(group->nodes[n]) : 0;
    }
    free(inputs);
}

/* The pages between ranges that are kept, which are in order. */
static void find_free(const cse_graph *graph, const cse_workspace_range *kept, int count,
                      cse_step_segment *segment)
{
    const int64_t all = graph->space_bytes[CSE_SPACE_REPLICA];
    int64_t at = 0;
    segment->free = cse_calloc((size_t)count + 1, sizeof *segment->free);
    for (int i = 0; i <= count; i++) {
        const int64_t first = (at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        const int64_t end = (i < count ? kept[i].first : all) / PAGE_BYTES * PAGE_BYTES;
        if (end > first)
            segment->free[segment->free_count++] = (cse_workspace_range){ first, end };
        at = i < count ? kept[i].end : at;
    }
}

static int64_t bytes_of(const cse_workspace_range *ranges, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += ranges[i].end - ranges[i].first;
    return bytes;
}

static void raise_to(int64_t *most, int64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

/* Of gradients: what is begun by groups before `end`, and final from `end` on alone. */
static int64_t unfinal_at(const cse_graph *graph, int end, const int64_t *final)
{
    int64_t bytes = 0;
    for (int n = 0; n < graph->node_count && end > 0; n++) {
        const cse_node *node = graph->nodes[n];
        const bool is_later = node->offset_bytes / 4 >= final[end - 1];
        if (node->space == CSE_SPACE_PARTIAL && node->group >= 0 && node->group < end && is_later)
            bytes += cse_node_bytes(node);
    }
    return bytes;
}

typedef struct finder {
    const cse_graph *graph;
    int64_t *final; /* by group: final_elements.h */
    cse_lifetime *values;
    int value_count;
    cse_workspace_range *ranges; /* room for all values */
} finder;

/* Bytes of values that live in groups [first, end] at some time and began before group `before`: in
 * order, as the values are, and without overlaps. */
static int find_ranges(const finder *f, int first, int end, int before)
{
    int count = 0;
    for (int v = 0; v < f->value_count; v++) {
        const cse_lifetime *value = &f->values[v];
        const cse_workspace_range range = { value->offset, value->offset + value->bytes };
        if (value->first >= before || value->last < first || value->first > end)
            continue;
        if (count > 0 && range.first <= f->ranges[count - 1].end)
            raise_to(&f->ranges[count - 1].end, range.end);
        else
            f->ranges[count++] = range;
    }
    return count;
}

/* Ends the segment that begins at group `first`. */
static void add_segment(const finder *f, int first, int end, cse_step_segments *s)
{
    cse_step_segment *segment = &s->items[s->count++];
    *segment = (cse_step_segment){ .end = end };
    raise_to(&s->touched_bytes, bytes_of(f->ranges, find_ranges(f, first, end - 1, end)));
    const int kept = find_ranges(f, end, f->graph->group_count, end);
    raise_to(&s->kept_bytes, bytes_of(f->ranges, kept));
    raise_to(&s->sum_bytes, 4 * (f->final[end - 1] - (first > 0 ? f->final[first - 1] : 0)));
    raise_to(&s->unfinal_bytes, unfinal_at(f->graph, end, f->final));
    find_free(f->graph, f->ranges, kept, segment);
}

static void divide(const finder *f, const int64_t bytes[], int64_t unit_bytes, cse_step_segments *s)
{
    int64_t sum = 0;
    int first = 0, last = 0;
    for (int g = 0; g < f->graph->group_count; g++) {
        if (f->graph->groups[g].part != CSE_PART_REPLICA)
            continue;
        if (sum > 0 && sum + bytes[g] > unit_bytes) {
            add_segment(f, first, last, s);
            first = last;
            sum = 0;
        }
        sum += bytes[g];
        last = g + 1;
    }
    if (last > first)
        add_segment(f, first, last, s);
}

void cse_step_segments_find(const cse_graph *graph, int64_t unit_bytes, cse_step_segments *s)
{
    const size_t places = (size_t)graph->group_count + 1;
    int64_t *bytes = cse_calloc(places, sizeof *bytes);
    finder f = { .graph = graph, .final = cse_calloc(places, sizeof *f.final) };
    *s = (cse_step_segments){ .items = cse_calloc(places, sizeof *s->items) };
    f.values = cse_lifetimes_find(graph, &f.value_count);
    f.ranges = cse_calloc((size_t)f.value_count + 1, sizeof *f.ranges);
    find_group_bytes(graph, bytes);
    cse_final_elements(graph, f.final);
    divide(&f, bytes, unit_bytes, s);
    free(f.ranges);
    free(f.values);
    free(f.final);
    free(bytes);
}

void cse_step_segments_clear(cse_step_segments *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->items[i].free);
    free(s->items);
    *s = (cse_step_segments){ .items = NULL };
}
