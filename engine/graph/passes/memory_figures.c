/* Figures of a plan, from the lifetimes of its values. */
#include <stdlib.h>

#include "engine/graph/passes/lifetimes.h"
#include "engine/graph/passes/memory_plan.h"

/* Whether the value took over the storage of one that was read for the last time by the group that
 * makes it: it is not counted in that group. */
static bool is_reuse(const cse_lifetime *all, int count, const cse_lifetime *value)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        bool before = all[middle].offset < value->offset ||
                      (all[middle].offset == value->offset && all[middle].last < value->first);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    for (; low < count && all[low].offset == value->offset && all[low].last == value->first; low++)
        if (all[low].first < value->first)
            return true;
    return false;
}

cse_memory_figures cse_memory_plan_figures(const cse_graph *graph)
{
    cse_memory_figures figures = { .workspace_bytes = graph->space_bytes[CSE_SPACE_REPLICA],
                                   .lent_bytes = graph->space_bytes[CSE_SPACE_LENT],
                                   .state_bytes = graph->space_bytes[CSE_SPACE_STATE],
                                   .sum_bytes = graph->space_bytes[CSE_SPACE_PARTIAL] };
    /* Bytes that are live in a group more than in the one before it. */
    int64_t *growth = cse_calloc((size_t)graph->group_count + 2, sizeof *growth), live = 0;
    int count;
    cse_lifetime *all = cse_lifetimes_find(graph, &count);
    while (count > 0 && all[count - 1].space != CSE_SPACE_REPLICA)
        count--;
    for (int v = 0; v < count; v++) {
        int first = all[v].first + is_reuse(all, count, &all[v]);
        if (first > all[v].last)
            continue;
        growth[first] += all[v].bytes;
        growth[all[v].last + 1] -= all[v].bytes;
    }
    for (int g = 0; g < graph->group_count; g++) {
        live += growth[g];
        if (live > figures.lower_bound_bytes)
            figures.lower_bound_bytes = live;
    }
    free(all);
    free(growth);
    return figures;
}
