/* Rows spread from the inputs to what is computed row by row. Gradients of parameters are sums over
 * samples, whatever their first dimension is. */
#include "run/travel/sample_rows.h"

#include "engine/base/arena.h"

static bool whole_rows(const cse_graph *graph, const cse_node *node)
{
    return node->batch && node->shape.rank > 0 &&
           node->shape.dims[0] % graph->micro_batch_size == 0;
}

static bool keeps_rows(const cse_node *node, const cse_node *input)
{
    return input->shape.rank > 0 &&
           (input->shape.dims[0] == node->shape.dims[0] || node->op->kind == CSE_OP_RESHAPE);
}

/* What a gradient is made of, element by element, up to the sum over samples. */
static void clear_sum(cse_node *node, bool *rows)
{
    const int64_t elements = cse_shape_elements(node->shape);
    rows[node->scratch] = false;
    if (node->op->kind != CSE_OP_ELEMENTWISE && node->op->kind != CSE_OP_RESHAPE)
        return;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]->batch && cse_shape_elements(node->inputs[i]->shape) == elements)
            clear_sum(node->inputs[i], rows);
}

bool *cse_sample_rows(cse_graph *graph)
{
    bool *rows = cse_calloc((size_t)graph->node_count + 1, sizeof *rows);
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        node->scratch = n;
        if (!whole_rows(graph, node))
            continue;
        rows[n] = node->op == &cse_op_input;
        for (int i = 0; i < node->input_count; i++)
            rows[n] =
                rows[n] || (rows[node->inputs[i]->scratch] && keeps_rows(node, node->inputs[i]));
    }
    for (int r = 0; r < graph->reduction_count; r++)
        if (graph->reductions[r].partial->backward ||
            graph->reductions[r].partial->inputs[0]->backward)
            clear_sum(graph->reductions[r].partial, rows);
    return rows;
}
