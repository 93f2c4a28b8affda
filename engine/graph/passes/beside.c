/* Nodes that nothing reads stay in the graph by graph->beside. */
#include "engine/graph/passes/beside.h"

#include <float.h>

#include "csengine/generated/ops.h"
#include "engine/graph/ops/attention.h"
#include "engine/graph/trace/trace.h"

static bool has_in(const cse_graph *graph, const cse_value_wish *wish, const char *scope,
                   const char *label)
{
    return cse_value_wish_has(wish, cse_value_name_in(graph, scope, label));
}

static bool asks_for_weights(const cse_graph *graph, const cse_value_wish *wish, const char *scope)
{
    return has_in(graph, wish, scope, CSE_ATTENTION_SCORES) ||
           has_in(graph, wish, scope, CSE_ATTENTION_PROBABILITIES);
}

static void keep(cse_graph *graph, cse_node *node, cse_beside beside)
{
    if (cse_trace_is_poison(node))
        return;
    node->beside = beside;
    CSE_GROW(graph->beside, graph->beside_count, graph->beside_capacity);
    graph->beside[graph->beside_count++] = node;
}

/* The largest element of |a - b|, in parts of the largest of |a|. */
static cse_node *difference(cse_node *a, cse_node *b)
{
    cse_node *wide = cse_cast(a, CSE_FLOAT32);
    cse_node *apart = cse_abs(cse_sub(wide, cse_cast(b, CSE_FLOAT32)));
    cse_node *largest = cse_maximum(cse_max(cse_abs(wide), NULL, 0, false), cse_constant(FLT_MIN));
    return cse_div(cse_max(apart, NULL, 0, false), largest);
}

void cse_trace_beside(cse_graph *graph, const cse_value_wish *wish, cse_node *node,
                      cse_node *expanded)
{
    const bool whole = node->op == &cse_op_scaled_dot_product_attention &&
                       node->attributes.integers[CSE_ATTENTION_WHOLE] != 0;
    if (!wish->by_name || !whole || node->backward || node->gradient_of != NULL ||
        !asks_for_weights(graph, wish, node->scope))
        return;
    cse_node *scores, *weights = cse_attention_weights(node, &scores);
    cse_node *output = cse_matmul(cse_cast(weights, node->dtype), node->inputs[2], false, false);
    cse_node *apart = difference(expanded, output);
    keep(graph, scores, CSE_BESIDE_VALUE);
    keep(graph, weights, CSE_BESIDE_VALUE);
    keep(graph, apart, CSE_BESIDE_DIFFERENCE);
    if (!cse_trace_is_poison(apart))
        apart->label = "beside_the_kernel";
}

bool cse_beside_tells(const cse_graph *graph, const cse_value_wish *wish, const cse_node *node)
{
    return node->beside == CSE_BESIDE_DIFFERENCE && asks_for_weights(graph, wish, node->scope);
}
