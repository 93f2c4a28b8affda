/* Reverse-mode differentiation: each `gradient` node becomes the nodes that compute it.
 *
 * For every loss, one walk from the loss backwards over the nodes between it and the wanted states.
 * Each op's own rule gives its inputs' gradients; a value's gradients are added in the order of the
 * walk, which depends on the graph alone. */
#include <stdlib.h>

#include "engine/passes/pass.h"
#include "engine/trace/trace.h"

extern const cse_op cse_op_scatter_add;

typedef struct walk {
    cse_graph *graph;
    int count;           /* nodes before differentiation */
    cse_node **adjoints; /* by position in the graph */
    bool *wanted;        /* by position: lies between a wanted state and the loss */
} walk;

/* New nodes get `node` as the forward node whose gradient they compute or, if `node` is of the
 * backward pass itself (gradients of gradients), that node's. */
static void begin_gradient_of(cse_graph *graph, const cse_node *node)
{
    cse_trace_begin_for(graph, node, true, node->backward ? node->gradient_of : node);
}

/* node->scratch holds the position while this pass runs. */
static void number_nodes(cse_graph *graph)
{
    for (int i = 0; i < graph->node_count; i++)
        graph->nodes[i]->scratch = i;
}

static void mark_wanted(walk *w, const cse_node *loss)
{
    for (int i = 0; i < w->count; i++) {
        cse_node *node = w->graph->nodes[i];
        w->wanted[i] = false;
        if (node->op == &cse_op_gradient && node->inputs[0] == loss)
            w->wanted[node->inputs[1]->scratch] = true;
    }
    for (int i = 0; i < w->count; i++) {
        cse_node *node = w->graph->nodes[i];
        if (node->op == &cse_op_gradient)
            continue;
        for (int k = 0; k < node->input_count; k++)
            if (w->wanted[node->inputs[k]->scratch] && cse_dtype_is_float(node->dtype))
                w->wanted[i] = true;
    }
}

/* The sum of two gradients of one value. Rows that go to places of a table are added there: a sum
 * of two tables would pass over all of both. */
static cse_node *sum_of(cse_node *before, cse_node *more)
{
    bool rows = more->op == &cse_op_scatter_add && more->input_count == 2;
    return rows ? cse_scatter_add_to(before, more->inputs[0], more->inputs[1])
                : cse_add(before, more);
}

static void differentiate_node(walk *w, cse_node *node)
{
    cse_node *gradients[CSE_MAX_INPUTS] = { NULL };
    begin_gradient_of(w->graph, node);
    if (node->op->gradient != NULL)
        node->op->gradient(node, w->adjoints[node->scratch], gradients);
    else
        cse_trace_fail(CSE_SHAPE,
                       "%s is not differentiable, and the loss depends on a parameter through it",
                       node->op->name);
    cse_trace_end();
    cse_trace_begin_for(w->graph, node, true, NULL);
    for (int k = 0; k < node->input_count; k++) {
        int64_t at = node->inputs[k]->scratch;
        if (gradients[k] == NULL || !w->wanted[at])
            continue;
        w->adjoints[at] = w->adjoints[at] ? sum_of(w->adjoints[at], gradients[k]) : gradients[k];
    }
    cse_trace_end();
}

static void differentiate_loss(walk *w, cse_node *loss)
{
    mark_wanted(w, loss);
    for (int i = 0; i < w->count; i++)
        w->adjoints[i] = NULL;
    w->adjoints[loss->scratch] = cse_graph_constant(w->graph, CSE_FLOAT32, 1.0);
    for (int i = (int)loss->scratch; i >= 0; i--) {
        cse_node *node = w->graph->nodes[i];
        if (w->adjoints[i] != NULL && w->wanted[i] && node->input_count > 0)
            differentiate_node(w, node);
    }
    for (int i = 0; i < w->count; i++) {
        cse_node *node = w->graph->nodes[i];
        if (node->op != &cse_op_gradient || node->inputs[0] != loss)
            continue;
        cse_node *adjoint = w->adjoints[node->inputs[1]->scratch];
        begin_gradient_of(w->graph, node);
        if (adjoint == NULL) /* the loss does not depend on the state */
            adjoint = cse_broadcast_to(cse_constant(0.0), node->shape);
        cse_trace_end();
        cse_graph_replace(node, adjoint);
    }
}

cse_status cse_pass_autodiff(cse_graph *graph, bool enabled)
{
    (void)enabled;
    walk w = { .graph = graph, .count = graph->node_count };
    w.adjoints = cse_calloc((size_t)w.count + 1, sizeof(cse_node *));
    w.wanted = cse_calloc((size_t)w.count + 1, sizeof(bool));
    number_nodes(graph);
    for (int i = 0; i < w.count; i++) {
        cse_node *node = graph->nodes[i];
        bool first = node->op == &cse_op_gradient && node->forward_to == NULL;
        if (first)
            differentiate_loss(&w, node->inputs[0]);
    }
    free(w.adjoints);
    free(w.wanted);
    CSE_TRY(cse_trace_status(graph));
    cse_graph_compact(graph);
    return CSE_OK;
}
