/* Marks the attentions, and their gradients, that one kernel computes as a whole: without storing a
 * score or a weight for each pair of a query and a key.
 *
 * The others are expanded into products and a softmax by later passes: with dropout, of 16-bit
 * types other than bfloat16, and where the configuration chooses something about the types or sums
 * inside. */
#include "engine/graph/trace/attention.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"

static bool is_attention(const cse_node *node)
{
    return node->op->kind == CSE_OP_COMPOSITE && node->op->precision == CSE_FAMILY_PRODUCT;
}

static bool is_suited(const cse_node *node)
{
    const cse_attributes *a = &node->attributes;
    const bool gradient = a->integer_count == CSE_ATTENTION_INTEGERS;
    const int inputs = gradient ? 4 : 3;
    const bool spans = node->input_count == inputs + 1 && node->inputs[inputs]->shape.rank == 3;
    bool suited = (node->input_count == inputs || spans) && a->numbers[CSE_ATTENTION_SCALE] > 0 &&
                  (node->dtype == CSE_FLOAT32 || node->dtype == CSE_BFLOAT16);
    for (int i = 0; i < inputs && suited; i++)
        suited = suited && node->inputs[i]->dtype == node->dtype &&
                 cse_shape_elements(node->inputs[i]->shape) > 0;
    return suited;
}

cse_status cse_pass_attention(cse_graph *graph, bool enabled)
{
    for (int n = 0; enabled && n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        if (is_attention(node) && is_suited(node) &&
            cse_precision_permits_whole(graph->precision, node))
            node->attributes.integers[CSE_ATTENTION_WHOLE] = 1;
    }
    return CSE_OK;
}
