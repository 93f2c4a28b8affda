/* Composite ops become the ops they stand for, after differentiation, so that a composite keeps a
 * gradient of its own and fusion sees primitives alone. */
#include "engine/passes/pass.h"
#include "engine/trace/trace.h"

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
        cse_graph_replace(node, node->op->expand(node));
    }
    cse_trace_begin(before);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
