/* Reverse-mode differentiation: each `gradient` node becomes the nodes that compute it.
 *
 * For every loss, one walk from the loss backwards over the nodes between it and the wanted states.
 * Each op's own rule gives its inputs' gradients, or the callback of a `custom` node; a value's
 * gradients are added in the order of the walk, which depends on the graph alone. */
#include <stdlib.h>

#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"

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
    else if (node->op == &cse_op_batch_sum)
        cse_trace_fail(CSE_SHAPE,
                       "batch_sum is not differentiable, and the loss depends on a parameter "
                       "through a sum over the batch (cse_batch_sum, cse_batch_mean): its "
                       "gradient would need a second pass over the batch; take the gradient of a "
                       "value of one microbatch");
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

/* ---- gradients that a callback traces ---- */

static bool take_adjoints(const walk *w, const cse_custom_entry *entry, cse_tensor *gradients[])
{
    bool any = false;
    for (int k = 0; k < entry->function.output_count; k++)
        any = any || w->adjoints[entry->nodes[k]->scratch] != NULL;
    for (int k = 0; any && k < entry->function.output_count; k++) {
        const cse_node *node = entry->nodes[k];
        gradients[k] = w->adjoints[node->scratch];
        if (gradients[k] == NULL)
            gradients[k] = cse_broadcast_to(cse_cast(cse_constant(0.0), node->dtype), node->shape);
    }
    return any;
}

static bool fits(const cse_node *input, const cse_tensor *gradient, int number)
{
    char has[128], wants[128];
    if (gradient == NULL || cse_trace_is_poison(gradient) ||
        (cse_shape_equal(gradient->shape, input->shape) && gradient->dtype == input->dtype))
        return true;
    cse_trace_fail(CSE_SHAPE,
                   "cse_custom_gradient: input %d is %s %s, the gradient that its callback gives "
                   "is %s %s: they must be alike",
                   number, cse_shape_text(input->shape, wants, sizeof wants),
                   cse_dtype_name(input->dtype), cse_shape_text(gradient->shape, has, sizeof has),
                   cse_dtype_name(gradient->dtype));
    return false;
}

/* All outputs of an entry lie one behind the other, so that at the first one, which the walk meets
 * last, the gradients of all are complete. */
static void differentiate_custom(walk *w, const cse_node *node)
{
    const cse_custom_entry *entry = &w->graph->customs[node->attributes.integers[0]];
    const cse_custom_function *function = &entry->function;
    const size_t outputs = (size_t)function->output_count, inputs = (size_t)function->input_count;
    if (node->attributes.integers[1] != 0)
        return;
    cse_trace_begin_for(w->graph, node, true, NULL);
    cse_tensor **given = cse_arena_alloc(w->graph->arena, outputs * sizeof(cse_tensor *));
    cse_tensor **made = cse_arena_alloc(w->graph->arena, inputs * sizeof(cse_tensor *));
    bool any = take_adjoints(w, entry, given);
    const cse_backward backward = { .inputs = function->inputs,
                                    .input_count = function->input_count,
                                    .outputs = function->outputs,
                                    .output_count = function->output_count,
                                    .output_gradients = given,
                                    .input_gradients = made };
    if (any)
        function->backward(function->self, &backward);
    for (int k = 0; any && k < function->input_count && fits(function->inputs[k], made[k], k);
         k++) {
        int64_t at = function->inputs[k]->scratch;
        if (made[k] != NULL && w->wanted[at])
            w->adjoints[at] = w->adjoints[at] ? sum_of(w->adjoints[at], made[k]) : made[k];
    }
    cse_trace_end();
}

static void remove_customs(const cse_graph *graph)
{
    for (int i = 0; i < graph->custom_count; i++)
        for (int k = 0; k < graph->customs[i].function.output_count; k++)
            cse_graph_replace(graph->customs[i].nodes[k], graph->customs[i].nodes[k]->inputs[0]);
}

/* ---- the walk ---- */

static void differentiate_loss(walk *w, cse_node *loss)
{
    mark_wanted(w, loss);
    for (int i = 0; i < w->count; i++)
        w->adjoints[i] = NULL;
    w->adjoints[loss->scratch] = cse_graph_constant(w->graph, CSE_FLOAT32, 1.0);
    for (int i = (int)loss->scratch; i >= 0; i--) {
        cse_node *node = w->graph->nodes[i];
        if (w->wanted[i] && node->op == &cse_op_custom)
            differentiate_custom(w, node);
        else if (w->adjoints[i] != NULL && w->wanted[i] && node->input_count > 0)
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
    graph->differentiating = true;
    for (int i = 0; i < w.count; i++) {
        cse_node *node = graph->nodes[i];
        bool first = node->op == &cse_op_gradient && node->forward_to == NULL;
        if (first)
            differentiate_loss(&w, node->inputs[0]);
    }
    graph->differentiating = false;
    free(w.adjoints);
    free(w.wanted);
    CSE_TRY(cse_trace_status(graph));
    remove_customs(graph);
    graph->custom_count = 0;
    cse_graph_compact(graph);
    return CSE_OK;
}
