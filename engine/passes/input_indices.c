/* Which inputs of the step hold indices, and how many values they may have: the rows of a table,
 * the classes of a loss; engine/trace/input_range.h says what for.
 *
 * It runs first, on the ops that the model's code called. */
#include "engine/passes/pass.h"
#include "engine/trace/input_range.h"

static void note_use(cse_graph *graph, const cse_node *node)
{
    const cse_op_indices *indices = &node->op->indices;
    cse_note_range(graph, node->inputs[1], indices->count(node),
                   indices->ignored != NULL ? indices->ignored(node) : 0,
                   cse_arena_printf(graph->arena, "%s of %s", indices->name,
                                    node->scope[0] != '\0' ? node->scope : node->op->name));
}

cse_status cse_pass_input_indices(cse_graph *graph, bool enabled)
{
    (void)enabled;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->op->indices.count != NULL)
            note_use(graph, graph->nodes[n]);
    return CSE_OK;
}
