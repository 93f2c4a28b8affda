/* Which inputs of the step hold indices, and how many values they may have: the rows of a table,
 * the classes of a loss. Those who fill a microbatch check it against that, so that a wrong
 * index is reported by its place in the data instead of showing as a loss that is not a number.
 *
 * It runs first, on the ops that the model's code called. An input counts as an index only where an
 * op reads it whole: behind a slice, a shift or arithmetic its values may be any. */
#include "engine/passes/pass.h"

static cse_node *whole_source(cse_node *node)
{
    while (node->op->kind == CSE_OP_RESHAPE || node->op->kind == CSE_OP_BROADCAST)
        node = node->inputs[0];
    return node;
}

static void note_use(cse_graph *graph, const cse_node *node)
{
    const cse_op_indices *indices = &node->op->indices;
    const cse_node *source = whole_source(node->inputs[1]);
    if (source->op != &cse_op_input)
        return;
    cse_input_entry *entry = &graph->inputs[source->attributes.integers[0]];
    int64_t count = indices->count(node);
    if (entry->index_count == 0 || count < entry->index_count) {
        entry->index_count = count;
        entry->index_use = cse_arena_printf(graph->arena, "%s of %s", indices->name,
                                            node->scope[0] != '\0' ? node->scope : node->op->name);
    }
    entry->index_not_negative = entry->index_not_negative || !indices->negative_is_ignored;
}

cse_status cse_pass_input_indices(cse_graph *graph, bool enabled)
{
    (void)enabled;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->op->indices.count != NULL)
            note_use(graph, graph->nodes[n]);
    return CSE_OK;
}
