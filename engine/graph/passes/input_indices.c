/* Which inputs of the step hold indices, and how many values they may have: the rows of a table,
 * the classes of a loss; engine/graph/trace/input_range.h says what for.
 *
 * It runs first, on the ops that the model's code called. */
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/input_range.h"

static const char *name_of(const cse_node *node)
{
    return node->scope[0] != '\0' ? node->scope : node->op->name;
}

int64_t cse_input_index_count(const cse_graph *graph, int input, const char **user)
{
    int64_t least = graph->inputs[input].index_count;
    *user = graph->inputs[input].index_use;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->op->indices.count == NULL || cse_range_input(node->inputs[1]) != input)
            continue;
        const int64_t count = node->op->indices.count(node);
        if (least == 0 || count < least) {
            least = count;
            *user = name_of(node);
        }
    }
    return least;
}

static void note_use(cse_graph *graph, const cse_node *node)
{
    const cse_op_indices *indices = &node->op->indices;
    cse_note_range(graph, node->inputs[1], indices->count(node),
                   indices->ignored != NULL ? indices->ignored(node) : 0,
                   cse_arena_printf(graph->arena, "%s of %s", indices->name, name_of(node)));
}

cse_status cse_pass_input_indices(cse_graph *graph, bool enabled)
{
    (void)enabled;
    for (int n = 0; n < graph->node_count; n++)
        if (graph->nodes[n]->op->indices.count != NULL)
            note_use(graph, graph->nodes[n]);
    return CSE_OK;
}
