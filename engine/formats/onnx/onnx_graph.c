/* Walks both traces, and writes what the output is computed from. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/formats/onnx/onnx_writer.h"

enum { GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

/* ---- leaves ---- */

static const char *write_input(cse_onnx *o, const cse_node *node)
{
    const char *name = o->graph->inputs[node->attributes.integers[0]].name;
    cse_onnx_declare(o, node, name, GRAPH_INPUT, &o->inputs);
    return name;
}

static const char *weight_name(cse_onnx *o, const cse_state_entry *state)
{
    static const char prefix[] = "model.";
    const bool of_model = strncmp(state->name, prefix, sizeof prefix - 1) == 0;
    return cse_arena_string(o->arena, state->name + (of_model ? sizeof prefix - 1 : 0));
}

static const char *write_state(cse_onnx *o, const cse_node *node)
{
    const cse_state_entry *state = &o->graph->states[node->attributes.integers[0]];
    const char *name = weight_name(o, state);
    cse_forward_pass *pass = o->pass;
    if (state->constant != NULL) {
        cse_onnx_constant(o, &(cse_onnx_tensor){ .name = name,
                                                 .type = cse_onnx_type(state->dtype),
                                                 .shape = state->shape,
                                                 .data = state->constant,
                                                 .bytes = (size_t)cse_node_bytes(node) });
        return name;
    }
    if (state->dtype != CSE_FLOAT32)
        return cse_onnx_fail(o, node, "it is a state that is no weight");
    pass->weights[pass->weight_count++] = (cse_forward_weight){ name, state->shape };
    return name;
}

static const char *write_leaf(cse_onnx *o, const cse_node *node)
{
    if (node->op == &cse_op_input)
        return write_input(o, node);
    if (node->op == &cse_op_state)
        return write_state(o, node);
    if (node->op == &cse_op_constant)
        return cse_onnx_scalar(o, node->dtype, node->attributes.numbers[0]);
    return cse_onnx_fail(o, node, "ONNX has no counterpart of it");
}

/* ---- ops ---- */

/* Those whose attributes are, or may be, sizes that grow with the samples. */
static bool has_sizes(const cse_node *node)
{
    static const char *const ops[] = { "reshape", "broadcast_to", "slice" };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(node->op->name, ops[i]) == 0)
            return true;
    return false;
}

static bool is_same(const cse_node *a, const cse_node *b)
{
    bool same = a->op == b->op && a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
                a->input_count == b->input_count &&
                a->attributes.integer_count == b->attributes.integer_count &&
                a->attributes.number_count == b->attributes.number_count;
    for (int i = 0; same && i < a->input_count; i++)
        same = a->inputs[i]->scratch == b->inputs[i]->scratch;
    for (int i = 0; same && i < a->attributes.integer_count && !has_sizes(a); i++)
        same = a->attributes.integers[i] == b->attributes.integers[i];
    for (int i = 0; same && i < a->attributes.number_count; i++)
        same = a->attributes.numbers[i] == b->attributes.numbers[i];
    return same;
}

static const char *write_node(cse_onnx *o, const cse_node *node)
{
    static const cse_onnx_mapping *const tables[] = { cse_onnx_elementwise, cse_onnx_shapes,
                                                      cse_onnx_networks };
    if (!is_same(node, cse_onnx_other(o, node)))
        return cse_onnx_fail(o, node, "what it computes depends on the number of samples");
    if (cse_node_is_leaf(node))
        return write_leaf(o, node);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const cse_onnx_mapping *row = tables[t]; row->op != NULL; row++)
            if (strcmp(row->op, node->op->name) == 0)
                return row->write(o, node, row->type);
    return cse_onnx_fail(o, node, "ONNX has no counterpart of this op");
}

/* Marks what the output is computed from; inputs come before their users. */
static void mark(const cse_graph *graph, const cse_node *output, bool *needed)
{
    needed[output->scratch] = true;
    for (int64_t n = output->scratch; n >= 0; n--)
        for (int i = 0; needed[n] && i < graph->nodes[n]->input_count; i++)
            needed[graph->nodes[n]->inputs[i]->scratch] = true;
}

/* Written where they are used, as narrow as the user takes them. */
static bool waits(const cse_node *node)
{
    return cse_onnx_is_broadcast(node) || strcmp(node->op->name, "constant") == 0;
}

/* In the order of the trace, so that nothing is deeply nested. */
static void write_all(cse_onnx *o, const cse_node *output)
{
    bool *needed = cse_calloc((size_t)o->graph->node_count + 1, sizeof *needed);
    mark(o->graph, output, needed);
    for (int i = 0; i < o->graph->input_count; i++) {
        const cse_node *input = o->graph->inputs[i].node;
        if (needed[input->scratch])
            cse_onnx_value(o, input);
    }
    for (int64_t n = 0; n <= output->scratch; n++)
        if (needed[n] && !waits(o->graph->nodes[n]))
            cse_onnx_value(o, o->graph->nodes[n]);
    free(needed);
}

static void write_output(cse_onnx *o, const cse_node *output, const char *name)
{
    cse_text message = { 0 };
    const char *value = cse_onnx_value(o, output);
    if (value == NULL)
        return;
    cse_protobuf_add_text(&message, 1, value);
    cse_protobuf_add_text(&message, 2, name);
    cse_protobuf_add_text(&message, 3, name);
    cse_protobuf_add_text(&message, 4, "Identity");
    cse_protobuf_take(&o->nodes, 1, &message);
    cse_onnx_declare(o, output, name, GRAPH_OUTPUT, &o->inputs);
}

static cse_status number_nodes(const cse_graph *here, const cse_graph *there)
{
    if (here->node_count != there->node_count)
        return cse_fail(CSE_SHAPE, "ONNX: the model computes something else for another number of "
                                   "samples");
    for (int n = 0; n < here->node_count; n++)
        here->nodes[n]->scratch = there->nodes[n]->scratch = n;
    return CSE_OK;
}

cse_status cse_onnx_describe(cse_arena *arena, const cse_onnx_trace traces[2], const char *name,
                             cse_forward_pass *pass)
{
    const cse_graph *graph = traces[0].graph;
    *pass = (cse_forward_pass){ .weight_count = 0 };
    CSE_TRY(number_nodes(graph, traces[1].graph));
    cse_onnx o = {
        .arena = arena, .write = write_node, .graph = graph, .other = traces[1].graph, .pass = pass
    };
    o.values = cse_calloc((size_t)graph->node_count + 1, sizeof *o.values);
    pass->weights =
        cse_arena_alloc(arena, ((size_t)graph->state_count + 1) * sizeof *pass->weights);
    write_all(&o, traces[0].output);
    write_output(&o, traces[0].output, name);
    cse_text_add_bytes(&pass->graph, o.nodes.data, o.nodes.size);
    cse_protobuf_add_text(&pass->graph, GRAPH_NAME, "csengine");
    cse_text_add_bytes(&pass->graph, o.constants.data, o.constants.size);
    cse_text_add_bytes(&pass->graph, o.inputs.data, o.inputs.size);
    cse_text_clear(&o.nodes);
    cse_text_clear(&o.constants);
    cse_text_clear(&o.inputs);
    cse_name_index_clear(&o.names);
    free(o.values);
    return o.error;
}
