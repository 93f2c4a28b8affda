/* Composite ops become the ops they stand for, after differentiation, so that a composite keeps a
 * gradient of its own and fusion sees primitives alone. */
#include "csengine/generated/ops.h"
#include "engine/passes/pass.h"
#include "engine/precision/graphamp.h"
#include "engine/trace/trace.h"

static bool is_low(const cse_node *node)
{
    return cse_dtype_is_float(node->dtype) && node->dtype != CSE_FLOAT32;
}

/* What is inside a composite is computed in float32, whatever it reads and stores: 16-bit inputs
 * are widened, which is exact, and the result is rounded once. Attention, whose products are there
 * for the 16 bits, and look-ups say by themselves what is wide in them. */
static cse_node *expand_in_float32(cse_node *node)
{
    cse_node *inputs[CSE_MAX_INPUTS], wide = *node;
    bool low = is_low(node);
    for (int i = 0; i < node->input_count; i++)
        low = low || is_low(node->inputs[i]);
    if (!low || cse_precision_is_product(node->op) || cse_precision_is_movement(node->op))
        return node->op->expand(node);
    for (int i = 0; i < node->input_count; i++)
        inputs[i] =
            is_low(node->inputs[i]) ? cse_cast(node->inputs[i], CSE_FLOAT32) : node->inputs[i];
    wide.inputs = inputs;
    if (is_low(node))
        wide.dtype = CSE_FLOAT32;
    cse_node *result = node->op->expand(&wide);
    return is_low(node) ? cse_cast(result, node->dtype) : result;
}

/* The sums inside are carried as the composite asks. */
static void pass_on_accumulation(cse_graph *graph, int first, const cse_node *node)
{
    for (int i = first; i < graph->node_count; i++)
        if (cse_precision_is_reduction(graph->nodes[i]->op))
            graph->nodes[i]->accumulation = node->accumulation;
}

cse_status cse_pass_expand(cse_graph *graph, bool enabled)
{
    (void)enabled;
    cse_graph *before = cse_trace_begin(graph);
    /* An expansion may contain composites: they are appended, and the loop meets them. */
    for (int i = 0; i < graph->node_count && graph->error == CSE_OK; i++) {
        cse_node *node = graph->nodes[i];
        if (node->op->kind != CSE_OP_COMPOSITE)
            continue;
        cse_trace_on_behalf(node, node->backward);
        int first = graph->node_count;
        cse_graph_replace(node, expand_in_float32(node));
        pass_on_accumulation(graph, first, node);
        for (int k = first; k < graph->node_count; k++)
            graph->nodes[k]->part_of = node->part_of != NULL ? node->part_of : node->op;
    }
    cse_trace_begin(before);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
