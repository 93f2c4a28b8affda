/* Minimal fusion, order, memory plan. */
#include "engine/passes/pass.h"

static bool is_leaf(const cse_node *node)
{
    return node->input_count == 0 && node->op->kind == CSE_OP_STRUCTURAL;
}

static int find_group(int *owner, int g)
{
    while (owner[g] != g)
        g = owner[g];
    return g;
}

cse_status cse_pass_fusion(cse_graph *graph, bool enabled)
{
    (void)enabled;
    int *owner = cse_calloc((size_t)graph->node_count + 1, sizeof *owner);
    for (int n = 0; n < graph->node_count; n++) {
        owner[n] = n;
        graph->nodes[n]->scratch = n;
    }
    for (int n = 0; n < graph->node_count; n++)
        for (int i = 0; graph->nodes[n]->part == CSE_PART_UPDATE && i < graph->nodes[n]->input_count; i++)
            if (graph->nodes[n]->inputs[i]->part == CSE_PART_UPDATE)
                owner[find_group(owner, (int)graph->nodes[n]->inputs[i]->scratch)] = find_group(owner, n);
    int64_t line = 0;
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (is_leaf(node) || find_group(owner, n) != n || (node->op->kind == CSE_OP_RESHAPE && node->part != CSE_PART_UPDATE))
            continue;
        cse_group group = { .kind = CSE_GROUP_BLOCK, .part = node->part };
        group.nodes = cse_arena_alloc(graph->arena, (size_t)graph->node_count * sizeof(cse_node *));
        for (int k = 0; k < graph->node_count; k++)
            if (find_group(owner, k) == n && !is_leaf(graph->nodes[k])) {
                graph->nodes[k]->group = graph->group_count;
                group.nodes[group.node_count++] = graph->nodes[k];
            }
        if (node->part == CSE_PART_UPDATE) {
            group.elements = cse_shape_elements(node->shape);
            group.first_line = line;
            line += (group.elements + 63) / 64;
        }
        CSE_GROW(graph->groups, graph->group_count, graph->group_capacity);
        graph->groups[graph->group_count++] = group;
    }
    return CSE_OK;
}

cse_status cse_pass_order(cse_graph *graph, bool enabled)
{
    (void)graph;
    (void)enabled;
    return CSE_OK;
}

static int64_t place(cse_graph *graph, cse_node *node, cse_space space)
{
    int64_t bytes = cse_shape_elements(node->shape) * (int64_t)cse_dtype_size(node->dtype);
    node->space = space;
    node->offset_bytes = graph->space_bytes[space];
    graph->space_bytes[space] += (bytes + 63) / 64 * 64;
    return node->offset_bytes;
}

cse_status cse_pass_memory_plan(cse_graph *graph, bool enabled)
{
    (void)enabled;
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].node)
            graph->inputs[i].offset_bytes = place(graph, graph->inputs[i].node, CSE_SPACE_INPUT);
    for (int r = 0; r < graph->reduction_count; r++) {
        cse_reduction_entry *e = &graph->reductions[r];
        e->offset_bytes = place(graph, e->partial, CSE_SPACE_PARTIAL);
        e->sum->space = CSE_SPACE_REDUCED;
        e->sum->offset_bytes = e->offset_bytes;
    }
    graph->space_bytes[CSE_SPACE_REDUCED] = graph->space_bytes[CSE_SPACE_PARTIAL];
    for (int f = 0; f < graph->fetch_count; f++)
        graph->fetches[f].offset_bytes = place(graph, graph->fetches[f].value, CSE_SPACE_FETCH);
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (node->op == &cse_op_state || node->op == &cse_op_assign) {
            node->space = CSE_SPACE_STATE;
            node->offset_bytes = graph->states[node->attributes.integers[0]].offset_bytes;
        }
        if (node->space == CSE_SPACE_NONE && node->group >= 0 && node->part == CSE_PART_REPLICA)
            place(graph, node, CSE_SPACE_REPLICA);
        if (node->space == CSE_SPACE_NONE && node->group >= 0 && node->part == CSE_PART_WEIGHTS)
            place(graph, node, CSE_SPACE_WEIGHTS);
    }
    return CSE_OK;
}
