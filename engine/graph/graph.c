/* Building and rewriting: nodes, states, constants, replacement and compaction.
 *
 * Nodes are never moved: rewriting marks `forward_to`, and compaction resolves the marks, keeps
 * what states and fetches need, and sorts. The order is by depth-first search from the results in
 * table order, so that it depends on the graph alone. */
#include "engine/graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

cse_graph *cse_graph_new(int microbatch_count, int64_t micro_batch_size)
{
    cse_graph *graph = cse_calloc(1, sizeof *graph);
    graph->arena = cse_arena_new();
    graph->microbatch_count = microbatch_count;
    graph->micro_batch_size = micro_batch_size;
    graph->poison = cse_arena_alloc(graph->arena, sizeof *graph->poison);
    graph->poison->op = &cse_op_constant;
    graph->poison->scope = "";
    return graph;
}

void cse_graph_destroy(cse_graph **graph)
{
    if (graph == NULL || *graph == NULL)
        return;
    cse_graph *g = *graph;
    free(g->nodes);
    free(g->states);
    cse_name_index_clear(&g->state_names);
    free(g->inputs);
    free(g->fetches);
    free(g->customs);
    free(g->reductions);
    free(g->beside);
    free(g->groups);
    free(g->tracked);
    cse_arena_destroy(&g->arena);
    free(g);
    *graph = NULL;
}

bool cse_node_is_batch(const cse_node *node)
{
    if (node->op == &cse_op_input || node->op == &cse_op_sample_index)
        return true;
    bool batch = false;
    for (int i = 0; i < node->input_count; i++)
        batch = batch || node->inputs[i]->batch;
    return batch && node->op != &cse_op_batch_sum;
}

cse_status cse_node_infer(const cse_node *node, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape shapes[CSE_MAX_INPUTS];
    cse_dtype dtypes[CSE_MAX_INPUTS];
    if (node->input_count < node->op->min_inputs || node->input_count > node->op->max_inputs)
        return cse_fail(CSE_SHAPE, "takes %d to %d inputs, has %d", node->op->min_inputs,
                        node->op->max_inputs, node->input_count);
    for (int i = 0; i < node->input_count; i++) {
        shapes[i] = node->inputs[i]->shape;
        dtypes[i] = node->inputs[i]->dtype;
    }
    const cse_infer in = { &node->attributes, node->input_count, shapes, dtypes };
    return node->op->infer(&in, shape, dtype);
}

/* Appends a copy of `made` with an id and memory of its own. */
static cse_node *append(cse_graph *graph, const cse_node *made)
{
    cse_node *node = cse_arena_alloc(graph->arena, sizeof *node);
    size_t bytes = (size_t)made->input_count * sizeof *node->inputs;
    *node = *made;
    node->id = graph->next_id++;
    node->inputs = cse_arena_alloc(graph->arena, bytes);
    for (int i = 0; i < node->input_count; i++)
        node->inputs[i] = made->inputs[i];
    node->attributes.text = cse_arena_string(graph->arena, made->attributes.text);
    CSE_GROW(graph->nodes, graph->node_count, graph->node_capacity);
    return graph->nodes[graph->node_count++] = node;
}

cse_status cse_graph_add(cse_graph *graph, const cse_op *op, const cse_attributes *attributes,
                         cse_operands inputs, cse_node **node)
{
    assert(graph != NULL && op != NULL && inputs.count >= 0);
    if (inputs.count > CSE_MAX_INPUTS)
        return cse_fail(CSE_SHAPE, "takes at most %d inputs, has %d", CSE_MAX_INPUTS, inputs.count);
    cse_node *operands[CSE_MAX_INPUTS];
    cse_node made = {
        .op = op, .input_count = inputs.count, .inputs = operands, .group = -1, .scope = ""
    };
    for (int i = 0; i < inputs.count; i++) {
        assert(inputs.nodes[i] != NULL && inputs.nodes[i]->id < graph->next_id);
        operands[i] = inputs.nodes[i];
    }
    if (attributes != NULL)
        made.attributes = *attributes;
    CSE_TRY(cse_node_infer(&made, &made.shape, &made.dtype));
    made.batch = cse_node_is_batch(&made);
    *node = append(graph, &made);
    return CSE_OK;
}

cse_node *cse_graph_clone(cse_graph *graph, const cse_node *node)
{
    assert(node->forward_to == NULL);
    return append(graph, node);
}

int cse_graph_find_state(const cse_graph *graph, const char *name)
{
    if (graph->state_names.count == graph->state_count)
        return cse_name_index_find(&graph->state_names, name);
    for (int i = 0; i < graph->state_count; i++) /* they were read from a file */
        if (strcmp(graph->states[i].name, name) == 0)
            return i;
    return -1;
}

cse_status cse_graph_add_state(cse_graph *graph, const cse_state_entry *entry, int *index)
{
    if (cse_graph_find_state(graph, entry->name) >= 0)
        return cse_fail(CSE_DATA, "a state named '%s' is declared already", entry->name);
    if (entry->dtype != CSE_FLOAT32 && entry->dtype != CSE_BFLOAT16 && entry->dtype != CSE_INT32)
        return cse_fail(CSE_SHAPE, "state '%s' is %s; states are float32, bfloat16 or int32",
                        entry->name, cse_dtype_name(entry->dtype));
    CSE_GROW(graph->states, graph->state_count, graph->state_capacity);
    cse_state_entry *state = &graph->states[graph->state_count];
    *state = *entry;
    state->name = cse_arena_string(graph->arena, entry->name);
    if (graph->state_names.count == graph->state_count)
        cse_name_index_add(&graph->state_names, state->name, graph->state_count);
    state->read = state->next = NULL;
    int64_t bytes = cse_shape_elements(entry->shape) * (int64_t)cse_dtype_size(entry->dtype);
    state->offset_bytes = graph->space_bytes[CSE_SPACE_STATE];
    graph->space_bytes[CSE_SPACE_STATE] += cse_aligned_bytes(bytes);
    *index = graph->state_count++;
    return CSE_OK;
}

cse_node *cse_graph_state_node(cse_graph *graph, int index)
{
    assert(index >= 0 && index < graph->state_count);
    cse_state_entry *state = &graph->states[index];
    if (state->read != NULL)
        return state->read;
    cse_attributes attributes = { .integer_count = 1, .integers = { index }, .text = state->name };
    cse_node *node = cse_graph_leaf(graph, &cse_op_state, &attributes, state->shape, state->dtype);
    node->scope = state->name;
    return graph->states[index].read = node;
}

cse_node *cse_graph_leaf(cse_graph *graph, const cse_op *op, const cse_attributes *attributes,
                         cse_shape shape, cse_dtype dtype)
{
    cse_node made = { .op = op, .group = -1, .scope = "", .shape = shape, .dtype = dtype };
    if (attributes != NULL)
        made.attributes = *attributes;
    made.batch = cse_node_is_batch(&made);
    return append(graph, &made);
}

cse_node *cse_graph_constant(cse_graph *graph, cse_dtype dtype, double value)
{
    cse_attributes attributes = { .number_count = 1, .numbers = { value } };
    return cse_graph_leaf(graph, &cse_op_constant, &attributes, cse_scalar_shape, dtype);
}

void cse_graph_replace(cse_node *old, cse_node *replacement)
{
    assert(old != NULL && replacement != NULL);
    while (replacement->forward_to != NULL)
        replacement = replacement->forward_to;
    if (old != replacement)
        old->forward_to = replacement;
    if (old->label != NULL && replacement->label == NULL) {
        replacement->label = old->label;
        replacement->beside = old->beside;
    }
}

static cse_node *resolved(cse_node *node)
{
    while (node != NULL && node->forward_to != NULL)
        node = node->forward_to;
    return node;
}

enum { UNSEEN = 0, OPEN = 1, PLACED = 2 };

/* Appends `node` after its inputs; an explicit stack, since graphs are deep. */
static void place(cse_node *root, cse_node **order, int *count, cse_node **stack)
{
    int depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
        cse_node *node = stack[depth - 1];
        if (node->scratch == UNSEEN) {
            node->scratch = OPEN;
            for (int i = node->input_count - 1; i >= 0; i--) {
                node->inputs[i] = resolved(node->inputs[i]);
                if (node->inputs[i]->scratch == UNSEEN)
                    stack[depth++] = node->inputs[i];
            }
            continue;
        }
        depth--;
        if (node->scratch == OPEN) {
            node->scratch = PLACED;
            order[(*count)++] = node;
        }
    }
}

/* After partition a batch_sum has no input: its partial is kept as a result while the sum is
 * used. */
static void place_reductions(cse_graph *graph, cse_node **order, int *count, cse_node **stack)
{
    int kept = 0;
    for (int i = 0; i < graph->reduction_count; i++) {
        cse_reduction_entry entry = graph->reductions[i];
        if (entry.sum->scratch != PLACED)
            continue;
        if (entry.partial->scratch == UNSEEN)
            place(entry.partial, order, count, stack);
        entry.partial->attributes.integers[0] = entry.sum->attributes.integers[0] = kept;
        graph->reductions[kept++] = entry;
    }
    graph->reduction_count = kept;
}

/* Unused inputs of the step stay: their offsets in a microbatch are fixed by the data. */
void cse_graph_compact(cse_graph *graph)
{
    int edges = 1, count = 0;
    for (int i = 0; i < graph->node_count; i++) {
        graph->nodes[i]->scratch = UNSEEN;
        edges += graph->nodes[i]->input_count + 1;
    }
    cse_node **order = cse_calloc((size_t)graph->node_count + 1, sizeof *order);
    cse_node **stack = cse_calloc((size_t)edges + 1, sizeof *stack);
    for (int i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].node != NULL && graph->inputs[i].node->scratch == UNSEEN)
            place(graph->inputs[i].node, order, &count, stack);
    for (int i = 0; i < graph->fetch_count; i++) {
        graph->fetches[i].value = resolved(graph->fetches[i].value);
        place(graph->fetches[i].value, order, &count, stack);
    }
    for (int i = 0; i < graph->state_count; i++) {
        graph->states[i].next = resolved(graph->states[i].next);
        if (graph->states[i].next != NULL)
            place(graph->states[i].next, order, &count, stack);
    }
    place_reductions(graph, order, &count, stack);
    for (int i = 0; i < graph->beside_count; i++) {
        graph->beside[i] = resolved(graph->beside[i]);
        if (graph->beside[i]->scratch == UNSEEN)
            place(graph->beside[i], order, &count, stack);
    }
    for (int i = 0; i < graph->state_count; i++)
        if (graph->states[i].read != NULL && graph->states[i].read->scratch != PLACED)
            graph->states[i].read = NULL;
    free(stack);
    free(graph->nodes);
    graph->nodes = order;
    graph->node_capacity = graph->node_count + 1;
    graph->node_count = count;
}

cse_node *cse_node_storage(cse_node *node)
{
    while (node->op->kind == CSE_OP_RESHAPE)
        node = node->inputs[0];
    return node;
}

static bool contains(cse_node *const nodes[], int count, const cse_node *node)
{
    bool found = false;
    for (int i = 0; !found && i < count; i++)
        found = nodes[i] == node;
    return found;
}

int cse_group_inputs(const cse_graph *graph, const cse_group *group, cse_node *inputs[], int most)
{
    int count = 0, number = (int)(group - graph->groups);
    for (int n = 0; n < group->node_count; n++)
        for (int i = 0; i < group->nodes[n]->input_count; i++) {
            cse_node *input = cse_node_storage(group->nodes[n]->inputs[i]);
            bool scalar = input->op == &cse_op_constant && input->shape.rank == 0;
            if (input->group == number || scalar || input->op == &cse_op_step_number ||
                contains(inputs, count < most ? count : most, input))
                continue;
            if (count < most)
                inputs[count] = input;
            count++;
        }
    return count;
}

void cse_group_line_bytes(const cse_group *group, const cse_node *node, const int64_t lines[2],
                          int64_t bytes[2])
{
    const int64_t elements = cse_shape_elements(node->shape);
    const int64_t line =
        elements == group->elements ? CSE_LINE_ELEMENTS : elements / cse_group_lines(group);
    for (int i = 0; i < 2; i++) {
        const int64_t element = lines[i] * line;
        bytes[i] = (element < elements ? element : elements) * (int64_t)cse_dtype_size(node->dtype);
    }
}

int cse_group_proposed(const cse_graph *graph, int group, cse_node *nodes[CSE_MAX_PROPOSED])
{
    const cse_group *of = &graph->groups[group];
    int rows[CSE_MAX_ASSIGNS], row_count = 0, count = 0;
    for (int n = 0; graph->tracked_count > 0 && n < of->node_count; n++) {
        const int row = of->nodes[n]->tracked - 1;
        if (row < 0 || row >= graph->tracked_count || row_count == CSE_MAX_ASSIGNS ||
            graph->tracked[row].kind != CSE_TRACKED_STATE)
            continue;
        int at = row_count++;
        for (; at > 0 && rows[at - 1] > row; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
    for (int r = 0; r < row_count; r++) {
        const cse_tracked_tensor *row = &graph->tracked[rows[r]];
        nodes[count++] = row->node;
        if (row->kept != NULL) {
            nodes[count++] = row->kept;
            nodes[count++] = row->delta;
        }
    }
    return count;
}

void cse_graph_take(cse_graph *graph, cse_graph **other)
{
    const cse_graph kept = *graph;
    cse_graph *from = *other;
    cse_arena *emptied = from->arena;
    cse_arena_take(kept.arena, emptied);
    for (int i = 0; i < from->state_count && i < kept.state_count; i++)
        from->states[i].constant = kept.states[i].constant;
    *graph = *from;
    graph->arena = kept.arena;
    graph->precision = kept.precision;
    graph->numerics = kept.numerics;
    graph->poison = kept.poison;
    *from = (cse_graph){ .arena = emptied,
                         .nodes = kept.nodes,
                         .states = kept.states,
                         .state_names = kept.state_names,
                         .inputs = kept.inputs,
                         .fetches = kept.fetches,
                         .customs = kept.customs,
                         .reductions = kept.reductions,
                         .beside = kept.beside,
                         .groups = kept.groups,
                         .tracked = kept.tracked };
    cse_graph_destroy(other);
}
