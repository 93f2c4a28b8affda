/* The reading half of json.c. Every field is fetched through a function that checks it, and the
 * first fault is kept; a graph is returned only when there was none and the grammar holds. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/graph.h"

/* More elements than any memory holds: products of sizes below it do not overflow. */
#define MOST_ELEMENTS ((int64_t)1 << 40)

typedef struct reader {
    cse_graph *graph;
    cse_status status;
} reader;

static void fault(reader *r, const char *what)
{
    if (r->status == CSE_OK)
        r->status = cse_fail(CSE_DATA, "graph file: %s is missing or wrong", what);
}

static int64_t integer_of(reader *r, const json_t *object, const char *key, int64_t low,
                          int64_t high)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high) {
        fault(r, key);
        return low;
    }
    return json_integer_value(value);
}

static const char *text_of(reader *r, const json_t *object, const char *key, bool required)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL && required)
        fault(r, key);
    return cse_arena_string(r->graph->arena, text ? text : "");
}

static double number_of(reader *r, const json_t *value)
{
    if (!json_is_string(value)) {
        fault(r, "number");
        return 0;
    }
    return strtod(json_string_value(value), NULL);
}

static cse_shape shape_of(reader *r, const json_t *object)
{
    const json_t *dims = json_object_get(object, "shape");
    cse_shape shape = { 0 };
    if (!json_is_array(dims) || json_array_size(dims) > CSE_MAX_RANK) {
        fault(r, "shape");
        return shape;
    }
    shape.rank = (int)json_array_size(dims);
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
        if (shape.dims[i] < 0 || (shape.dims[i] > 0 && elements > MOST_ELEMENTS / shape.dims[i])) {
            fault(r, "shape");
            return (cse_shape){ 0 };
        }
        elements *= shape.dims[i] > 0 ? shape.dims[i] : 1;
    }
    return shape;
}

static cse_dtype dtype_of(reader *r, const json_t *object)
{
    cse_dtype dtype = cse_dtype_from_name(text_of(r, object, "dtype", true));
    if (dtype == CSE_DTYPE_COUNT)
        fault(r, "dtype");
    return dtype;
}

static cse_node *node_at(reader *r, int64_t index, bool optional)
{
    if (index == -1 && optional)
        return NULL;
    if (index < 0 || index >= r->graph->node_count) {
        fault(r, "node index");
        return NULL;
    }
    return r->graph->nodes[index];
}

static void read_attributes(reader *r, const json_t *object, cse_attributes *attributes)
{
    const json_t *integers = json_object_get(object, "integers");
    const json_t *numbers = json_object_get(object, "numbers");
    if (json_array_size(integers) > CSE_MAX_INTEGERS ||
        json_array_size(numbers) > CSE_MAX_NUMBERS) {
        fault(r, "attributes");
        return;
    }
    attributes->integer_count = (int)json_array_size(integers);
    attributes->number_count = (int)json_array_size(numbers);
    for (int i = 0; i < attributes->integer_count; i++)
        attributes->integers[i] = json_integer_value(json_array_get(integers, (size_t)i));
    for (int i = 0; i < attributes->number_count; i++)
        attributes->numbers[i] = number_of(r, json_array_get(numbers, (size_t)i));
    if (json_object_get(object, "text") != NULL)
        attributes->text = text_of(r, object, "text", true);
}

enum { MOST_LEVEL = 2 };

/* Absent: 0; else 1 + the level. */
static uint8_t level_of(reader *r, const json_t *object, const char *key)
{
    if (json_object_get(object, key) == NULL)
        return 0;
    return (uint8_t)(1 + integer_of(r, object, key, 0, MOST_LEVEL));
}

static void read_precision(reader *r, const json_t *object, cse_node *node)
{
    const json_t *accumulation = json_object_get(object, "accumulation");
    node->request.graphamp_off = json_is_true(json_object_get(object, "graphamp_off"));
    node->request.pol_forward = level_of(r, object, "pol_forward");
    node->request.pol_backward = level_of(r, object, "pol_backward");
    node->inserted_cast = json_is_true(json_object_get(object, "inserted_cast"));
    if (accumulation == NULL)
        return;
    node->accumulation.across = dtype_of(r, accumulation);
    node->accumulation.stochastic = json_is_true(json_object_get(accumulation, "stochastic"));
    node->accumulation.emulated = json_is_true(json_object_get(accumulation, "emulated"));
    node->accumulation.stream = (uint32_t)integer_of(r, accumulation, "stream", 0, UINT32_MAX);
    node->accumulation.tile_length =
        (int32_t)integer_of(r, accumulation, "tile_length", 1, INT32_MAX);
    if (!cse_dtype_is_float(node->accumulation.across))
        fault(r, "accumulation");
}

static void read_node(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    const json_t *inputs = json_object_get(object, "inputs");
    cse_attributes attributes = { 0 };
    read_attributes(r, object, &attributes);
    const cse_op *op = cse_op_find(text_of(r, object, "op", true));
    cse_shape shape = shape_of(r, object);
    cse_dtype dtype = dtype_of(r, object);
    if (op == NULL || json_array_size(inputs) > CSE_MAX_INPUTS)
        fault(r, "op");
    if (r->status != CSE_OK)
        return;
    cse_node *node = cse_graph_leaf(graph, op, &attributes, shape, dtype);
    node->input_count = (int)json_array_size(inputs);
    node->inputs = cse_arena_alloc(graph->arena, (size_t)node->input_count * sizeof(cse_node *));
    graph->node_count--; /* an input must be an earlier node, not the node itself */
    for (int i = 0; i < node->input_count; i++) {
        node->inputs[i] = node_at(r, json_integer_value(json_array_get(inputs, (size_t)i)), false);
        node->batch = node->batch || (node->inputs[i] != NULL && node->inputs[i]->batch);
    }
    graph->node_count++;
    node->batch = node->batch && op != &cse_op_batch_sum;
    node->scope = text_of(r, object, "scope", false);
    node->backward = json_is_true(json_object_get(object, "backward"));
    node->part = (cse_part)integer_of(r, object, "part", 0, CSE_PART_COUNT - 1);
    node->group = (int)integer_of(r, object, "group", -1, INT32_MAX);
    node->space = (cse_space)integer_of(r, object, "space", 0, CSE_SPACE_COUNT - 1);
    node->offset_bytes = integer_of(r, object, "offset", 0, INT64_MAX);
    read_precision(r, object, node);
}

static void read_state(reader *r, const json_t *object)
{
    const char *name = text_of(r, object, "name", true);
    cse_state_entry entry = {
        .name = name,
        .shape = shape_of(r, object),
        .dtype = dtype_of(r, object),
        .initializer = { (cse_initializer_kind)integer_of(r, object, "initializer", 0,
                                                          CSE_INIT_TRUNCATED_NORMAL),
                         number_of(r, json_object_get(object, "a")),
                         number_of(r, json_object_get(object, "b")) },
        .trainable = json_is_true(json_object_get(object, "trainable")),
    };
    int index;
    if (r->status == CSE_OK)
        r->status = cse_graph_add_state(r->graph, &entry, &index);
    if (r->status != CSE_OK)
        return;
    cse_state_entry *state = &r->graph->states[index];
    state->read = node_at(r, integer_of(r, object, "read", -1, INT32_MAX), true);
    state->next = node_at(r, integer_of(r, object, "next", -1, INT32_MAX), true);
    if (state->offset_bytes != integer_of(r, object, "offset", 0, INT64_MAX))
        fault(r, "state offset");
}

static void read_input(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] = (cse_input_entry){
        .name = text_of(r, object, "name", true),
        .shape = shape_of(r, object),
        .dtype = dtype_of(r, object),
        .node = node_at(r, integer_of(r, object, "node", -1, INT32_MAX), true),
        .offset_bytes = integer_of(r, object, "offset", 0, INT64_MAX),
    };
}

static void read_fetch(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] = (cse_fetch_entry){
        .name = text_of(r, object, "name", true),
        .value = node_at(r, integer_of(r, object, "node", 0, INT32_MAX), false),
        .offset_bytes = integer_of(r, object, "offset", 0, INT64_MAX),
    };
}

static void read_reduction(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    CSE_GROW(graph->reductions, graph->reduction_count, graph->reduction_capacity);
    graph->reductions[graph->reduction_count++] = (cse_reduction_entry){
        .partial = node_at(r, integer_of(r, object, "partial", 0, INT32_MAX), false),
        .sum = node_at(r, integer_of(r, object, "sum", 0, INT32_MAX), false),
        .offset_bytes = integer_of(r, object, "offset", 0, INT64_MAX),
    };
}

static void read_group(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    const json_t *nodes = json_object_get(object, "nodes");
    cse_group group = {
        .kind = (cse_group_kind)integer_of(r, object, "kind", 0, CSE_GROUP_LIBRARY),
        .part = (cse_part)integer_of(r, object, "part", 0, CSE_PART_COUNT - 1),
        .elements = integer_of(r, object, "elements", 0, INT64_MAX),
        .first_line = integer_of(r, object, "first_line", 0, INT64_MAX),
        .node_count = (int)json_array_size(nodes),
    };
    group.nodes =
        cse_arena_alloc(graph->arena, (size_t)(group.node_count + 1) * sizeof(cse_node *));
    for (int n = 0; n < group.node_count; n++)
        group.nodes[n] = node_at(r, json_integer_value(json_array_get(nodes, (size_t)n)), false);
    CSE_GROW(graph->groups, graph->group_count, graph->group_capacity);
    graph->groups[graph->group_count++] = group;
}

/* An UPDATE node that the state's tracked reads; NULL when there is none. */
static cse_node *read_proposed(reader *r, const json_t *object, const char *key,
                               const cse_node *assign)
{
    cse_node *node = node_at(r, integer_of(r, object, key, -1, INT32_MAX), true);
    if (node != NULL && assign != NULL && node->group != assign->group)
        fault(r, key);
    return node;
}

static void read_tracked(reader *r, const json_t *object)
{
    cse_graph *graph = r->graph;
    cse_tracked_tensor o = {
        .kind = (cse_tracked_kind)integer_of(r, object, "kind", 0, CSE_TRACKED_COUNT - 1),
        .name = text_of(r, object, "name", true),
        .op = "",
        .source = cse_dtype_from_name(text_of(r, object, "source", true)),
        .node = node_at(r, integer_of(r, object, "node", 0, INT32_MAX), false),
        .scratch_offset = integer_of(r, object, "scratch", -1, INT64_MAX / 2),
    };
    o.kept = read_proposed(r, object, "kept", o.node);
    o.delta = read_proposed(r, object, "delta", o.node);
    bool fits = r->status == CSE_OK && o.source != CSE_DTYPE_COUNT && o.node->group >= 0 &&
                (o.kind != CSE_TRACKED_STATE || o.node->op == &cse_op_assign) &&
                (o.kind != CSE_TRACKED_GRADIENT || o.node->op == &cse_op_partial) &&
                (o.kept == NULL) == (o.delta == NULL);
    if (!fits) {
        fault(r, "tracked");
        return;
    }
    CSE_GROW(graph->tracked, graph->tracked_count, graph->tracked_capacity);
    graph->tracked[graph->tracked_count++] = o;
    o.node->tracked = graph->tracked_count;
}

static void read_all(reader *r, const json_t *root, const char *key,
                     void (*read)(reader *, const json_t *))
{
    const json_t *rows = json_object_get(root, key);
    if (!json_is_array(rows))
        fault(r, key);
    for (size_t i = 0; r->status == CSE_OK && i < json_array_size(rows); i++)
        read(r, json_array_get(rows, i));
}

cse_status cse_graph_from_json(const char *json, size_t size, cse_graph **graph)
{
    json_error_t error;
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return cse_fail(CSE_DATA, "graph file: line %d, column %d: %s", error.line, error.column,
                        error.text);
    reader r = { .graph = cse_graph_new(1, 1) };
    if (integer_of(&r, root, "version", 0, INT32_MAX) != 1)
        fault(&r, "version");
    r.graph->microbatch_count = (int)integer_of(&r, root, "microbatch_count", 1, INT32_MAX);
    r.graph->micro_batch_size = integer_of(&r, root, "micro_batch_size", 1, INT32_MAX);
    read_all(&r, root, "nodes", read_node);
    read_all(&r, root, "states", read_state);
    read_all(&r, root, "inputs", read_input);
    read_all(&r, root, "fetches", read_fetch);
    read_all(&r, root, "reductions", read_reduction);
    read_all(&r, root, "groups", read_group);
    if (json_object_get(root, "tracked") != NULL) {
        read_all(&r, root, "tracked", read_tracked);
        r.graph->statistics_scratch_bytes =
            integer_of(&r, root, "statistics_scratch_bytes", 0, INT64_MAX / 2);
    }
    const json_t *spaces = json_object_get(root, "space_bytes");
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        r.graph->space_bytes[s] = json_integer_value(json_array_get(spaces, (size_t)s));
    json_decref(root);
    if (r.status == CSE_OK)
        r.status = cse_graph_verify(r.graph);
    if (r.status != CSE_OK)
        cse_graph_destroy(&r.graph);
    *graph = r.graph;
    return r.status;
}
