/* Which inputs of the step hold indices, and how many values they may have: the rows of a table,
 * the classes of a loss. Those who fill a microbatch check it against that, so that a wrong
 * index is reported by its place in the data instead of showing as a loss that is not a number.
 *
 * It runs first, on the ops that the model's code called. An input counts as an index only where an
 * op reads it whole: behind a slice, a shift or arithmetic its values may be any. */
#include "engine/passes/pass.h"

static const cse_node *whole_source(const cse_node *node)
{
    while (node->op->kind == CSE_OP_RESHAPE || node->op->kind == CSE_OP_BROADCAST)
        node = node->inputs[0];
    return node;
}

/* Whether the node takes values of that input as indices. */
static bool uses(const cse_node *node, int input)
{
    if (node->op->indices.count == NULL)
        return false;
    const cse_node *source = whole_source(node->inputs[1]);
    return source->op == &cse_op_input && source->attributes.integers[0] == input;
}

int64_t cse_input_index_count(const cse_graph *graph, int input, const cse_node **user)
{
    int64_t least = 0;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (!uses(node, input))
            continue;
        const int64_t count = node->op->indices.count(node);
        if (least == 0 || count < least) {
            least = count;
            *user = node;
        }
    }
    return least;
}

static void note_uses(cse_graph *graph, int input)
{
    cse_input_entry *entry = &graph->inputs[input];
    const cse_node *user = NULL;
    entry->index_count = cse_input_index_count(graph, input, &user);
    if (user == NULL)
        return;
    entry->index_use = cse_arena_printf(graph->arena, "%s of %s", user->op->indices.name,
                                        user->scope[0] != '\0' ? user->scope : user->op->name);
    for (int n = 0; n < graph->node_count; n++)
        if (uses(graph->nodes[n], input) && !graph->nodes[n]->op->indices.negative_is_ignored)
            entry->index_not_negative = true;
}

cse_status cse_pass_input_indices(cse_graph *graph, bool enabled)
{
    (void)enabled;
    for (int i = 0; i < graph->input_count; i++)
        note_uses(graph, i);
    return CSE_OK;
}
