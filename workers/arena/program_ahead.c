/* Numbers of groups count on behind the end of a program that cycles, so that they only grow. */
#include "workers/arena/program_ahead.h"

/* What was read ahead behind the end stays so where the program begins again. */
static void go_to(cse_program_ahead *ahead, const cse_graph *graph, int group)
{
    const bool is_other = ahead->part != graph->groups[group].part;
    if (is_other || (group <= ahead->current && !ahead->cycles))
        ahead->next = group + 1;
    else if (group <= ahead->current)
        ahead->next -= graph->group_count;
    if (ahead->next <= group)
        ahead->next = group + 1;
    ahead->part = graph->groups[group].part;
    ahead->current = group;
}

cse_status cse_program_ahead_group(cse_program_ahead *ahead, const cse_graph *graph,
                                   const cse_space_places *places, bool skips_prepared, int group)
{
    ahead->ranges.count = 0;
    cse_group_ranges(graph, group, places, &ahead->ranges);
    CSE_TRY(cse_residency_use(ahead->blocks, ahead->ranges.items, ahead->ranges.count));
    go_to(ahead, graph, group);
    const int end = ahead->cycles ? group + graph->group_count : graph->group_count;
    for (; ahead->next < end; ahead->next++) {
        const int next = ahead->next % graph->group_count;
        const cse_group *behind = &graph->groups[next];
        if (behind->part != ahead->part || (skips_prepared && behind->per_step))
            continue;
        ahead->ranges.count = 0;
        cse_group_ranges(graph, next, places, &ahead->ranges);
        if (!cse_residency_expect(ahead->blocks, ahead->ranges.items, ahead->ranges.count))
            break;
    }
    return CSE_OK;
}
