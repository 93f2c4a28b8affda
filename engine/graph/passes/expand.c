/* Composite ops are replaced by the ops they stand for, after differentiation: a composite has a
 * gradient rule of its own, and fusion sees only primitives. */
#include "csengine/generated/ops.h"
#include "engine/graph/passes/beside.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/trace.h"

static bool is_low(const cse_node *node)
{
    return cse_dtype_is_float(node->dtype) && node->dtype != CSE_FLOAT32;
}

static cse_dtype arithmetic_of(const cse_node *node)
{
    return node->accumulation.emulated ? node->accumulation.arithmetic : CSE_FLOAT32;
}

static cse_node *as_type(cse_node *node, cse_dtype dtype)
{
    return cse_dtype_is_float(node->dtype) ? cse_cast(node, dtype) : node;
}

/* A composite computes in float32 whatever it reads and stores: 16-bit inputs are widened, which is
 * exact, and the result is rounded once. Where 16-bit arithmetic is emulated, every node inside has
 * the 16-bit type, so that each result is rounded. Expansions of attention and of data movement
 * choose their types themselves. */
static cse_node *expand_in_arithmetic(cse_node *node)
{
    cse_node *inputs[CSE_MAX_INPUTS], wide = *node;
    cse_dtype arithmetic = arithmetic_of(node);
    bool low = is_low(node);
    for (int i = 0; i < node->input_count; i++)
        low = low || is_low(node->inputs[i]);
    if (!low || node->op->precision == CSE_FAMILY_PRODUCT ||
        node->op->precision == CSE_FAMILY_MOVEMENT)
        return node->op->expand(node);
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = as_type(node->inputs[i], arithmetic);
    wide.inputs = inputs;
    if (cse_dtype_is_float(node->dtype))
        wide.dtype = arithmetic;
    return as_type(node->op->expand(&wide), node->dtype);
}

/* Copies the composite's accumulation to the sums inside: for attention to its products, else to
 * its reductions. Each gets a stream of random numbers of its own. */
static void pass_on_accumulation(cse_graph *graph, int first, const cse_node *node)
{
    bool product = node->op->precision == CSE_FAMILY_PRODUCT;
    for (int i = first; i < graph->node_count; i++) {
        cse_node *made = graph->nodes[i];
        bool sums = product ? made->op->precision == CSE_FAMILY_PRODUCT
                            : made->op->precision == CSE_FAMILY_REDUCTION;
        if (!sums || node->accumulation.across == CSE_FLOAT32 ||
            cse_pol_terms(made) <= node->accumulation.tile_length)
            continue;
        made->accumulation = node->accumulation;
        made->accumulation.stream += (uint32_t)(i - first) * 0x9E3779B9u;
    }
}

static void expand_all(cse_graph *graph, const cse_value_wish *wish)
{
    /* An expansion may contain composites: they are appended, and expanded when the loop gets
     * there. */
    for (int i = 0; i < graph->node_count && graph->error == CSE_OK; i++) {
        cse_node *node = graph->nodes[i];
        if (node->op->kind != CSE_OP_COMPOSITE)
            continue;
        int first = graph->node_count;
        cse_trace_begin_for(graph, node, node->backward, node->gradient_of);
        cse_node *expanded = expand_in_arithmetic(node);
        cse_trace_beside(graph, wish, node, expanded);
        cse_graph_replace(node, expanded);
        cse_trace_end();
        pass_on_accumulation(graph, first, node);
        for (int k = first; k < graph->node_count; k++)
            graph->nodes[k]->part_of = node->part_of != NULL ? node->part_of : node->op;
    }
}

cse_status cse_pass_expand(cse_graph *graph, bool enabled)
{
    cse_value_wish wish;
    (void)enabled;
    cse_status status = cse_value_wish_open(graph->numerics, &wish);
    if (status == CSE_OK)
        expand_all(graph, &wish);
    cse_value_wish_close(&wish);
    CSE_TRY(status);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
