/* Products and look-ups of packed weights: a matmul with an unpacked weight as its second matrix
 * becomes packed_linear, a gather of its rows packed_embedding, so that no unpacked copy exists.
 * Casts of the weight go into them: its values are rounded once, as by the cast.
 *
 * What else reads a packed weight, and a product whose accumulation is emulated, keeps the
 * unpacked copy. */
#include "engine/graph/ops/packed_weight.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/accumulate.h"
#include "engine/graph/trace/trace.h"

/* The unpacked weight that `node` is, maybe rounded; NULL: it is none. */
static cse_node *unpacked(cse_node *node)
{
    if (node->op->role == CSE_OP_ROLE_CAST && cse_dtype_is_float(node->dtype))
        node = node->inputs[0];
    return node->op == &cse_op_unpack_weight ? node : NULL;
}

static void read_product(cse_node *product)
{
    cse_node *weight = unpacked(product->inputs[1]);
    const cse_attributes *old = &product->attributes;
    if (weight == NULL || old->integers[0] != 0 || product->shape.rank != 2 ||
        cse_node_is_tiled(product))
        return;
    const int64_t transposed = old->integers[1];
    product->op = &cse_op_packed_linear;
    product->inputs[1] = weight->inputs[0];
    product->attributes = weight->attributes;
    product->attributes.integers[product->attributes.integer_count++] = transposed;
}

static void read_rows(cse_node *rows)
{
    cse_node *table = unpacked(rows->inputs[0]);
    if (table == NULL)
        return;
    rows->op = &cse_op_packed_embedding;
    rows->inputs[0] = table->inputs[0];
    rows->attributes = table->attributes;
    rows->attributes.integers[rows->attributes.integer_count++] = rows->dtype;
}

cse_status cse_pass_packed_weights(cse_graph *graph, bool enabled)
{
    for (int n = 0; enabled && n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (node->op == &cse_op_matmul)
            read_product(node);
        else if (node->op == &cse_op_gather)
            read_rows(node);
    }
    if (enabled)
        cse_graph_compact(graph);
    return cse_trace_status(graph);
}
