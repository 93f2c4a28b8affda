/* The invariants of a step graph, checked after every pass. */
#include "engine/graph/graph.h"

static cse_status fail_node(const cse_node *node, const char *what)
{
    return cse_fail(CSE_INTERNAL, "graph: node %%%u %s (scope '%s'): %s", node->id, node->op->name,
                    node->scope, what);
}

/* A kernel may compute in float32 and round what it stores: an op that reads 16 bits may write
 * float32, and a composite may store 16 bits of what it computes in float32. */
static bool may_store(const cse_node *node, cse_dtype rule)
{
    cse_op_kind kind = node->op->kind;
    bool computes = kind == CSE_OP_LIBRARY || kind == CSE_OP_COMPOSITE ||
                    kind == CSE_OP_ELEMENTWISE || kind == CSE_OP_REDUCE;
    if (node->dtype == rule)
        return true;
    if (!cse_dtype_is_float(node->dtype) || !cse_dtype_is_float(rule) ||
        node->op->role == CSE_OP_ROLE_CAST || node->op->role == CSE_OP_ROLE_STORE)
        return false;
    return (computes && node->dtype == CSE_FLOAT32) ||
           (kind == CSE_OP_COMPOSITE && rule == CSE_FLOAT32);
}

static cse_status verify_types(const cse_node *node)
{
    cse_shape shape = { 0 };
    cse_dtype dtype = CSE_FLOAT32;
    if (node->input_count < node->op->min_inputs || node->input_count > node->op->max_inputs)
        return fail_node(node, "wrong number of inputs");
    if (cse_node_is_leaf(node) || node->op->infer == NULL) /* a stand-in has no rule */
        return CSE_OK;
    if (cse_node_infer(node, &shape, &dtype) != CSE_OK)
        return fail_node(node, cse_error_message());
    if (!cse_shape_equal(shape, node->shape) || !may_store(node, dtype))
        return fail_node(node, "its shape or type differs from what its rule infers");
    return CSE_OK;
}

static cse_status verify_level(const cse_node *node)
{
    return cse_node_is_batch(node) == node->batch ? CSE_OK : fail_node(node, "wrong level");
}

/* A program reads only its own values and leaves; UPDATE also what WEIGHTS materialized. */
static cse_status verify_part(const cse_node *node)
{
    if (node->part == CSE_PART_NONE)
        return CSE_OK;
    for (int i = 0; i < node->input_count; i++) {
        const cse_node *input = node->inputs[i];
        bool from_weights = node->part == CSE_PART_UPDATE && input->op == &cse_op_materialize;
        if (input->part != node->part && !cse_node_is_leaf(input) && !from_weights)
            return fail_node(node, "reads a value of another program");
    }
    return CSE_OK;
}

/* scratch holds 1 + the position of each node while this function runs. */
static cse_status verify_order(const cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = 0;
    for (int n = 0; n < graph->node_count; n++) {
        cse_node *node = graph->nodes[n];
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i]->scratch == 0)
                return fail_node(node, "comes before one of its inputs");
        if (node->scratch != 0)
            return fail_node(node, "is in the graph twice");
        node->scratch = n + 1;
    }
    return CSE_OK;
}

static cse_status verify_groups(const cse_graph *graph)
{
    for (int g = 0; g < graph->group_count; g++)
        for (int n = 0; n < graph->groups[g].node_count; n++) {
            const cse_node *node = graph->groups[g].nodes[n];
            if (node->group != g || node->part != graph->groups[g].part)
                return fail_node(node, "is in another group or part than the table says");
        }
    return CSE_OK;
}

cse_status cse_graph_verify(const cse_graph *graph)
{
    CSE_TRY(verify_order(graph));
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        CSE_TRY(verify_types(node));
        CSE_TRY(verify_level(node));
        CSE_TRY(verify_part(node));
        if (node->offset_bytes % 64 != 0 && node->space != CSE_SPACE_NONE)
            return fail_node(node, "is not aligned to 64 bytes");
    }
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        if (state->next != NULL &&
            (state->next->dtype != state->dtype ||
             cse_shape_elements(state->next->shape) != cse_shape_elements(state->shape)))
            return fail_node(state->next, "does not fit the state it is assigned to");
    }
    return verify_groups(graph);
}
