/* The schedule of the groups within each program.
 *
 * A list scheduler: of the groups whose inputs are computed, the next is the one after which the
 * least memory is live (bytes it stores minus bytes it reads for the last time); ties go to the
 * first in graph order. Gradients of weights, whose results are stored outside the workspace, are
 * thus computed as soon as possible, and the activations they read are freed. */
#include <stdlib.h>
#include <string.h>

#include "engine/passes/pass.h"

typedef struct schedule {
    const cse_graph *graph;
    int (*ranges)[2]; /* inputs of each group: a range of `inputs` */
    cse_node **inputs;
    int *waiting; /* by group: inputs that no group of the part has computed yet */
    int *readers; /* by id: groups that will still read the value */
    bool *done;   /* by group */
    int *order;   /* new position -> old group */
} schedule;

static bool is_made_by_group(const cse_node *node, cse_part part)
{
    return node->group >= 0 && node->part == part;
}

static void collect_inputs(schedule *s)
{
    const cse_graph *graph = s->graph;
    int total = 0, used = 0;
    for (int g = 0; g < graph->group_count; g++)
        total += cse_group_inputs(graph, &graph->groups[g], NULL, 0);
    s->inputs = cse_calloc((size_t)total + 1, sizeof *s->inputs);
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        /* Without an array, cse_group_inputs counts a value for each time it is read; with one,
         * once. */
        int count = cse_group_inputs(graph, group, s->inputs + used, total - used);
        s->ranges[g][0] = used;
        used += count;
        s->ranges[g][1] = used;
        for (int i = s->ranges[g][0]; i < used; i++) {
            s->readers[s->inputs[i]->id]++;
            s->waiting[g] += is_made_by_group(s->inputs[i], group->part);
        }
    }
}

/* Workspace bytes after the group minus before. */
static int64_t growth_of(const schedule *s, int g)
{
    const cse_group *group = &s->graph->groups[g];
    int64_t growth = 0;
    for (int i = s->ranges[g][0]; i < s->ranges[g][1]; i++)
        if (is_made_by_group(s->inputs[i], group->part) && s->readers[s->inputs[i]->id] == 1)
            growth -= cse_node_bytes(s->inputs[i]);
    for (int n = 0; n < group->node_count; n++)
        if (s->readers[group->nodes[n]->id] > 0 && group->nodes[n]->op->role != CSE_OP_ROLE_STORE)
            growth += cse_node_bytes(group->nodes[n]);
    return growth;
}

static int next_group(const schedule *s, cse_part part, bool enabled)
{
    int best = -1;
    int64_t best_growth = 0;
    for (int g = 0; g < s->graph->group_count; g++) {
        if (s->done[g] || s->graph->groups[g].part != part || s->waiting[g] > 0)
            continue;
        int64_t growth = enabled ? growth_of(s, g) : 0;
        if (best < 0 || growth < best_growth) {
            best = g;
            best_growth = growth;
        }
    }
    return best;
}

static void finish_group(schedule *s, int g)
{
    const cse_graph *graph = s->graph;
    s->done[g] = true;
    for (int i = s->ranges[g][0]; i < s->ranges[g][1]; i++)
        s->readers[s->inputs[i]->id]--;
    for (int other = 0; other < graph->group_count; other++)
        for (int i = s->ranges[other][0]; i < s->ranges[other][1]; i++)
            if (s->inputs[i]->group == g && !s->done[other] &&
                graph->groups[other].part == graph->groups[g].part)
                s->waiting[other]--;
}

static void renumber(cse_graph *graph, const int *order)
{
    cse_group *groups = cse_calloc((size_t)graph->group_count + 1, sizeof *groups);
    int64_t line = 0;
    for (int g = 0; g < graph->group_count; g++) {
        groups[g] = graph->groups[order[g]];
        for (int n = 0; n < groups[g].node_count; n++)
            groups[g].nodes[n]->group = g;
        groups[g].first_line = groups[g].part == CSE_PART_UPDATE ? line : 0;
        line += cse_group_lines(&groups[g]);
    }
    memcpy(graph->groups, groups, (size_t)graph->group_count * sizeof *groups);
    free(groups);
}

cse_status cse_pass_order(cse_graph *graph, bool enabled)
{
    size_t groups = (size_t)graph->group_count + 1;
    schedule s = { .graph = graph };
    s.ranges = cse_calloc(groups, sizeof *s.ranges);
    s.waiting = cse_calloc(groups, sizeof *s.waiting);
    s.done = cse_calloc(groups, sizeof *s.done);
    s.order = cse_calloc(groups, sizeof *s.order);
    s.readers = cse_calloc((size_t)graph->next_id + 1, sizeof *s.readers);
    collect_inputs(&s);
    int count = 0;
    for (cse_part part = CSE_PART_REPLICA; part < CSE_PART_COUNT; part++)
        for (int g; (g = next_group(&s, part, enabled)) >= 0;) {
            s.order[count++] = g;
            finish_group(&s, g);
        }
    cse_status status = CSE_OK;
    if (count < graph->group_count)
        status = cse_fail(CSE_INTERNAL, "order: %d of %d groups wait for one another",
                          graph->group_count - count, graph->group_count);
    else
        renumber(graph, s.order);
    free(s.ranges);
    free(s.inputs);
    free(s.waiting);
    free(s.done);
    free(s.order);
    free(s.readers);
    return status;
}
