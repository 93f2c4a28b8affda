/* The memory plan follows these rules, and what checks it asks for them. */
#include "engine/graph/passes/lifetimes.h"

#include <stdlib.h>

bool cse_is_workspace_value(const cse_graph *graph, const cse_node *node)
{
    return node->group >= 0 && node->part != CSE_PART_UPDATE && node->op != &cse_op_partial &&
           node->op != &cse_op_fetch && graph->groups[node->group].part == node->part;
}

int cse_last_reader(const cse_graph *graph, const cse_node *value, int reader)
{
    const bool stays = graph->groups[value->group].per_step && !graph->groups[reader].per_step;
    return stays ? graph->group_count : reader;
}

static int compare_lifetimes(const void *a, const void *b)
{
    const cse_lifetime *x = a, *y = b;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

/* By id of a node: the last group that reads it. */
static int *find_last_readers(const cse_graph *graph)
{
    int *last = cse_calloc((size_t)graph->next_id + 1, sizeof *last);
    cse_node **inputs = cse_calloc((size_t)graph->node_count + 1, sizeof *inputs);
    for (int g = 0; g < graph->group_count; g++) {
        const int read = cse_group_inputs(graph, &graph->groups[g], inputs, graph->node_count);
        for (int i = 0; i < read; i++)
            if (cse_is_workspace_value(graph, inputs[i]) &&
                last[inputs[i]->id] < graph->group_count)
                last[inputs[i]->id] = cse_last_reader(graph, inputs[i], g);
    }
    free(inputs);
    return last;
}

cse_lifetime *cse_lifetimes_find(const cse_graph *graph, int *count)
{
    cse_lifetime *all = cse_calloc((size_t)graph->node_count + 1, sizeof *all);
    int *last = find_last_readers(graph);
    *count = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->space != CSE_SPACE_REPLICA && node->space != CSE_SPACE_LENT)
            continue;
        const int read = node->op == &cse_op_materialize ? graph->group_count : last[node->id];
        all[(*count)++] = (cse_lifetime){ .space = node->space,
                                          .offset = node->offset_bytes,
                                          .bytes = cse_aligned_bytes(cse_node_bytes(node)),
                                          .first = node->group,
                                          .last = read > node->group ? read : node->group };
    }
    free(last);
    qsort(all, (size_t)*count, sizeof *all, compare_lifetimes);
    return all;
}
