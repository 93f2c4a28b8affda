/* A graph as JSON and back: what a compilation leaves for the processes that run it.
 *
 * Numbers that must survive exactly are written as hexadecimal floats in strings, since JSON has no
 * infinities. What is read back is checked before it is used: indices, counts, and then the
 * grammar. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/graph.h"

enum { FORMAT_VERSION = 1 };

/* ---- writing ---- */

static json_t *json_shape(cse_shape shape)
{
    json_t *dims = json_array();
    for (int i = 0; i < shape.rank; i++)
        json_array_append_new(dims, json_integer(shape.dims[i]));
    return dims;
}

static json_t *json_double(double value)
{
    return json_sprintf("%a", value);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

/* Only what is set: a graph that nobody asked anything of is written as it always was. */
static void set_precision(json_t *object, const cse_node *node)
{
    const cse_precision_request *request = &node->request;
    const cse_accumulation *accumulation = &node->accumulation;
    if (request->graphamp_off)
        json_object_set_new(object, "graphamp_off", json_true());
    if (request->pol_forward > 0)
        json_object_set_new(object, "pol_forward", json_integer(request->pol_forward - 1));
    if (request->pol_backward > 0)
        json_object_set_new(object, "pol_backward", json_integer(request->pol_backward - 1));
    if (node->inserted_cast)
        json_object_set_new(object, "inserted_cast", json_true());
    if (accumulation->across != CSE_FLOAT32)
        json_object_set_new(
            object, "accumulation",
            json_pack("{s:s, s:b, s:b, s:i, s:I}", "dtype", cse_dtype_name(accumulation->across),
                      "stochastic", (int)accumulation->stochastic, "emulated",
                      (int)accumulation->emulated, "tile_length", (int)accumulation->tile_length,
                      "stream", (json_int_t)accumulation->stream));
}

static json_t *json_node(const cse_node *node)
{
    json_t *inputs = json_array(), *integers = json_array(), *numbers = json_array();
    for (int i = 0; i < node->input_count; i++)
        json_array_append_new(inputs, json_integer(node->inputs[i]->scratch));
    for (int i = 0; i < node->attributes.integer_count; i++)
        json_array_append_new(integers, json_integer(node->attributes.integers[i]));
    for (int i = 0; i < node->attributes.number_count; i++)
        json_array_append_new(numbers, json_double(node->attributes.numbers[i]));
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:i, s:i, s:i, s:I}", "op", node->op->name, "dtype",
        cse_dtype_name(node->dtype), "shape", json_shape(node->shape), "inputs", inputs, "integers",
        integers, "numbers", numbers, "backward", (int)node->backward, "part", (int)node->part,
        "group", node->group, "space", (int)node->space, "offset", (json_int_t)node->offset_bytes);
    set_text(object, "text", node->attributes.text);
    set_text(object, "scope", node->scope);
    set_precision(object, node);
    return object;
}

static json_int_t index_of(const cse_node *node)
{
    return node ? (json_int_t)node->scratch : -1;
}

static json_t *json_states(const cse_graph *graph)
{
    json_t *states = json_array();
    for (int s = 0; s < graph->state_count; s++) {
        const cse_state_entry *e = &graph->states[s];
        json_array_append_new(
            states, json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:b, s:I, s:I, s:I}", "name", e->name,
                              "shape", json_shape(e->shape), "dtype", cse_dtype_name(e->dtype),
                              "initializer", (int)e->initializer.kind, "a",
                              json_double(e->initializer.a), "b", json_double(e->initializer.b),
                              "trainable", (int)e->trainable, "read", index_of(e->read), "next",
                              index_of(e->next), "offset", (json_int_t)e->offset_bytes));
    }
    return states;
}

static json_t *json_tables(const cse_graph *graph, const char *kind)
{
    json_t *rows = json_array();
    for (int i = 0; strcmp(kind, "inputs") == 0 && i < graph->input_count; i++) {
        const cse_input_entry *e = &graph->inputs[i];
        json_array_append_new(rows, json_pack("{s:s, s:o, s:s, s:I, s:I}", "name", e->name, "shape",
                                              json_shape(e->shape), "dtype",
                                              cse_dtype_name(e->dtype), "node", index_of(e->node),
                                              "offset", (json_int_t)e->offset_bytes));
    }
    for (int i = 0; strcmp(kind, "fetches") == 0 && i < graph->fetch_count; i++) {
        const cse_fetch_entry *e = &graph->fetches[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:I, s:I}", "name", e->name, "node",
                                        index_of(e->value), "offset", (json_int_t)e->offset_bytes));
    }
    for (int i = 0; strcmp(kind, "reductions") == 0 && i < graph->reduction_count; i++) {
        const cse_reduction_entry *e = &graph->reductions[i];
        json_array_append_new(rows,
                              json_pack("{s:I, s:I, s:I}", "partial", index_of(e->partial), "sum",
                                        index_of(e->sum), "offset", (json_int_t)e->offset_bytes));
    }
    return rows;
}

/* What the processes that run the step must know of it; names stay with the coordinator. */
static json_t *json_tracked(const cse_graph *graph)
{
    json_t *rows = json_array();
    for (int i = 0; i < graph->tracked_count; i++) {
        const cse_tracked_tensor *o = &graph->tracked[i];
        json_array_append_new(
            rows, json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I}", "kind", (int)o->kind, "name",
                            o->name, "source", cse_dtype_name(o->source), "node", index_of(o->node),
                            "kept", index_of(o->kept), "delta", index_of(o->delta), "scratch",
                            (json_int_t)o->scratch_offset));
    }
    return rows;
}

static json_t *json_groups(const cse_graph *graph)
{
    json_t *groups = json_array();
    for (int g = 0; g < graph->group_count; g++) {
        const cse_group *group = &graph->groups[g];
        json_t *nodes = json_array();
        for (int n = 0; n < group->node_count; n++)
            json_array_append_new(nodes, json_integer(group->nodes[n]->scratch));
        json_array_append_new(groups, json_pack("{s:i, s:i, s:o, s:I, s:I}", "kind",
                                                (int)group->kind, "part", (int)group->part, "nodes",
                                                nodes, "elements", (json_int_t)group->elements,
                                                "first_line", (json_int_t)group->first_line));
    }
    return groups;
}

void cse_graph_to_json(const cse_graph *graph, cse_text *out)
{
    json_t *nodes = json_array(), *spaces = json_array();
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    for (int n = 0; n < graph->node_count; n++)
        json_array_append_new(nodes, json_node(graph->nodes[n]));
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        json_array_append_new(spaces, json_integer(graph->space_bytes[s]));
    json_t *root = json_pack(
        "{s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", FORMAT_VERSION,
        "microbatch_count", graph->microbatch_count, "micro_batch_size",
        (json_int_t)graph->micro_batch_size, "nodes", nodes, "states", json_states(graph), "inputs",
        json_tables(graph, "inputs"), "fetches", json_tables(graph, "fetches"), "reductions",
        json_tables(graph, "reductions"), "groups", json_groups(graph), "space_bytes", spaces);
    if (graph->tracked_count > 0) {
        json_object_set_new(root, "tracked", json_tracked(graph));
        json_object_set_new(root, "statistics_scratch_bytes",
                            json_integer(graph->statistics_scratch_bytes));
    }
    char *text = json_dumps(root, JSON_COMPACT);
    cse_text_add_bytes(out, text, strlen(text));
    free(text);
    json_decref(root);
}
