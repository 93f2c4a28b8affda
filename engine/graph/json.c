/* A graph as JSON and back, for the pages of the dashboard and for tools.
 *
 * One table lists each record's fields for writing and reading (json_fields.h); code beside it
 * handles what tables cannot express (lists, checks between fields). A graph that is read is
 * returned only when every field was in its range and the invariants hold (verify.c). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/graph/graph.h"
#include "engine/graph/json_fields.h"

enum { FORMAT_VERSION = 1, MOST_LEVEL = 2 };

#define FIELD(name, kind, record, member)                                         \
    {                                                                             \
        .key = name, .type = CSE_FIELD_##kind, .offset = offsetof(record, member) \
    }
#define OPTIONAL(name, kind, record, member)                                       \
    {                                                                              \
        .key = name, .type = CSE_FIELD_##kind, .offset = offsetof(record, member), \
        .optional = true                                                           \
    }
#define NUMBER(name, kind, record, member, least, most)                                          \
    {                                                                                            \
        .key = name, .type = CSE_FIELD_##kind, .offset = offsetof(record, member), .low = least, \
        .high = most                                                                             \
    }

#define OPTIONAL_NUMBER(name, kind, record, member, least, most)                   \
    {                                                                              \
        .key = name, .type = CSE_FIELD_##kind, .offset = offsetof(record, member), \
        .optional = true, .low = least, .high = most                               \
    }

static const cse_field node_fields[] = {
    FIELD("dtype", DTYPE, cse_node, dtype),
    FIELD("shape", SHAPE, cse_node, shape),
    OPTIONAL("text", TEXT, cse_node, attributes.text),
    OPTIONAL("scope", TEXT, cse_node, scope),
    FIELD("backward", BOOL, cse_node, backward),
    NUMBER("part", INT, cse_node, part, 0, CSE_PART_COUNT - 1),
    NUMBER("group", INT, cse_node, group, -1, INT32_MAX),
    NUMBER("space", INT, cse_node, space, 0, CSE_SPACE_COUNT - 1),
    NUMBER("offset", INT64, cse_node, offset_bytes, 0, INT64_MAX),
    OPTIONAL("inserted_cast", BOOL, cse_node, inserted_cast),
    OPTIONAL_NUMBER("recompute_block", INT, cse_node, recompute_block, 0, INT32_MAX),
    OPTIONAL_NUMBER("recomputed", INT, cse_node, recomputed, 0, INT32_MAX),
    OPTIONAL("graphamp_off", BOOL, cse_node, request.graphamp_off),
    OPTIONAL("observes", BOOL, cse_node, request.observes),
    NUMBER("pol_forward", LEVEL, cse_node, request.pol_forward, 0, MOST_LEVEL),
    NUMBER("pol_backward", LEVEL, cse_node, request.pol_backward, 0, MOST_LEVEL),
    { .key = NULL },
};

static const cse_field accumulation_fields[] = {
    FIELD("dtype", DTYPE, cse_accumulation, across),
    FIELD("stochastic", BOOL, cse_accumulation, stochastic),
    FIELD("emulated", BOOL, cse_accumulation, emulated),
    NUMBER("tile_length", INT, cse_accumulation, tile_length, 1, INT32_MAX),
    NUMBER("stream", UINT, cse_accumulation, stream, 0, UINT32_MAX),
    { .key = NULL },
};

static const cse_field state_fields[] = {
    FIELD("name", TEXT, cse_state_entry, name),
    FIELD("shape", SHAPE, cse_state_entry, shape),
    FIELD("dtype", DTYPE, cse_state_entry, dtype),
    NUMBER("initializer", INT, cse_state_entry, initializer.kind, 0, CSE_INIT_COUNT - 1),
    FIELD("a", DOUBLE, cse_state_entry, initializer.a),
    FIELD("b", DOUBLE, cse_state_entry, initializer.b),
    FIELD("trainable", BOOL, cse_state_entry, trainable),
    NUMBER("read", NODE, cse_state_entry, read, -1, INT32_MAX),
    NUMBER("next", NODE, cse_state_entry, next, -1, INT32_MAX),
    NUMBER("offset", INT64, cse_state_entry, offset_bytes, 0, INT64_MAX),
    { .key = NULL },
};

static const cse_field input_fields[] = {
    FIELD("name", TEXT, cse_input_entry, name),
    FIELD("shape", SHAPE, cse_input_entry, shape),
    FIELD("dtype", DTYPE, cse_input_entry, dtype),
    NUMBER("node", NODE, cse_input_entry, node, -1, INT32_MAX),
    NUMBER("offset", INT64, cse_input_entry, offset_bytes, 0, INT64_MAX),
    { .key = "index_count",
      .type = CSE_FIELD_INT64,
      .offset = offsetof(cse_input_entry, index_count),
      .low = 0,
      .high = INT64_MAX,
      .optional = true },
    { .key = "index_ignored",
      .type = CSE_FIELD_INT64,
      .offset = offsetof(cse_input_entry, index_ignored),
      .low = INT32_MIN,
      .high = INT32_MAX,
      .optional = true },
    OPTIONAL("index_use", TEXT, cse_input_entry, index_use),
    { .key = NULL },
};

static const cse_field fetch_fields[] = {
    FIELD("name", TEXT, cse_fetch_entry, name),
    FIELD("node", NODE, cse_fetch_entry, value),
    NUMBER("offset", INT64, cse_fetch_entry, offset_bytes, 0, INT64_MAX),
    { .key = NULL },
};

static const cse_field reduction_fields[] = {
    FIELD("partial", NODE, cse_reduction_entry, partial),
    FIELD("sum", NODE, cse_reduction_entry, sum),
    NUMBER("offset", INT64, cse_reduction_entry, offset_bytes, 0, INT64_MAX),
    { .key = NULL },
};

static const cse_field group_fields[] = {
    NUMBER("kind", INT, cse_group, kind, 0, CSE_GROUP_LIBRARY),
    NUMBER("part", INT, cse_group, part, 0, CSE_PART_COUNT - 1),
    NUMBER("elements", INT64, cse_group, elements, 0, INT64_MAX),
    NUMBER("first_line", INT64, cse_group, first_line, 0, INT64_MAX),
    OPTIONAL("per_step", BOOL, cse_group, per_step),
    { .key = NULL },
};

static const cse_field tracked_fields[] = {
    NUMBER("kind", INT, cse_tracked_tensor, kind, 0, CSE_TRACKED_COUNT - 1),
    FIELD("name", TEXT, cse_tracked_tensor, name),
    FIELD("source", DTYPE, cse_tracked_tensor, source),
    FIELD("node", NODE, cse_tracked_tensor, node),
    NUMBER("kept", NODE, cse_tracked_tensor, kept, -1, INT32_MAX),
    NUMBER("delta", NODE, cse_tracked_tensor, delta, -1, INT32_MAX),
    NUMBER("scratch", INT64, cse_tracked_tensor, scratch_offset, -1, INT64_MAX / 2),
    OPTIONAL("whole", BOOL, cse_tracked_tensor, whole),
    OPTIONAL_NUMBER("beside", INT, cse_tracked_tensor, beside, 0, CSE_BESIDE_COUNT - 1),
    { .key = NULL },
};

static const cse_field graph_fields[] = {
    NUMBER("microbatch_count", INT, cse_graph, microbatch_count, 1, INT32_MAX),
    NUMBER("micro_batch_size", INT64, cse_graph, micro_batch_size, 1, INT32_MAX),
    { .key = "statistics_scratch_bytes",
      .type = CSE_FIELD_INT64,
      .offset = offsetof(cse_graph, statistics_scratch_bytes),
      .low = 0,
      .high = INT64_MAX / 2,
      .optional = true },
    OPTIONAL("portable", BOOL, cse_graph, portable),
    OPTIONAL("isa", TEXT, cse_graph, isa),
    { .key = "product_order",
      .type = CSE_FIELD_INT,
      .offset = offsetof(cse_graph, product_order),
      .low = 0,
      .high = CSE_PRODUCT_ORDER_COUNT - 1,
      .optional = true },
    { .key = NULL },
};

/* The graph's arrays of records, in the order in which they are read. */
typedef struct table {
    const char *key;
    const cse_field *fields;
    size_t records, count, capacity; /* where the graph holds the array and its sizes */
    size_t record_bytes;
} table;

#define TABLE(list, one, record)                                                          \
    {                                                                                     \
#list, one##_fields, offsetof(cse_graph, list), offsetof(cse_graph, one##_count), \
            offsetof(cse_graph, one##_capacity), sizeof(record)                           \
    }

static const table tables[] = {
    TABLE(states, state, cse_state_entry),  TABLE(inputs, input, cse_input_entry),
    TABLE(fetches, fetch, cse_fetch_entry), TABLE(reductions, reduction, cse_reduction_entry),
    TABLE(groups, group, cse_group),        TABLE(tracked, tracked, cse_tracked_tensor),
};

enum { TABLES = sizeof tables / sizeof tables[0] };

/* ---- writing ---- */

static void write_node(const cse_node *node, cse_text *out)
{
    const cse_attributes *attributes = &node->attributes;
    cse_text_add_bytes(out, "{", 1);
    cse_fields_write(node_fields, node, out);
    cse_json_key(out, "op");
    cse_json_add_string(out, node->op->name);
    cse_json_key(out, "inputs");
    cse_json_positions(out, node->inputs, node->input_count);
    cse_json_key(out, "integers");
    cse_json_integers(out, attributes->integers, attributes->integer_count);
    cse_json_key(out, "numbers");
    cse_text_add_bytes(out, "[", 1);
    for (int i = 0; i < attributes->number_count; i++)
        cse_text_add(out, "%s\"%a\"", i > 0 ? "," : "", attributes->numbers[i]);
    cse_text_add_bytes(out, "]", 1);
    if (node->accumulation.across != CSE_FLOAT32) {
        cse_json_key(out, "accumulation");
        cse_text_add_bytes(out, "{", 1);
        cse_fields_write(accumulation_fields, &node->accumulation, out);
        cse_text_add_bytes(out, "}", 1);
    }
    cse_text_add_bytes(out, "}", 1);
}

static void write_table(const cse_graph *graph, const table *t, cse_text *out)
{
    const char *records;
    int count;
    memcpy(&records, (const char *)graph + t->records, sizeof records);
    memcpy(&count, (const char *)graph + t->count, sizeof count);
    cse_json_key(out, t->key);
    cse_text_add_bytes(out, "[", 1);
    for (int i = 0; i < count; i++) {
        if (i > 0)
            cse_text_add_bytes(out, ",", 1);
        cse_text_add_bytes(out, "{", 1);
        cse_fields_write(t->fields, records + (size_t)i * t->record_bytes, out);
        if (t->fields == group_fields) {
            cse_json_key(out, "nodes");
            cse_json_positions(out, graph->groups[i].nodes, graph->groups[i].node_count);
        }
        cse_text_add_bytes(out, "}", 1);
    }
    cse_text_add_bytes(out, "]", 1);
}

void cse_graph_to_json(const cse_graph *graph, cse_text *out)
{
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    cse_text_add_bytes(out, "{", 1);
    cse_fields_write(graph_fields, graph, out);
    cse_json_key(out, "version");
    cse_text_add_number(out, FORMAT_VERSION);
    cse_json_key(out, "nodes");
    cse_text_add_bytes(out, "[", 1);
    for (int n = 0; n < graph->node_count; n++) {
        if (n > 0)
            cse_text_add_bytes(out, ",", 1);
        write_node(graph->nodes[n], out);
    }
    cse_text_add_bytes(out, "]", 1);
    cse_json_key(out, "space_bytes");
    cse_json_integers(out, graph->space_bytes, CSE_SPACE_COUNT);
    for (int t = 0; t < TABLES; t++)
        write_table(graph, &tables[t], out);
    cse_text_add_bytes(out, "}", 1);
}

/* ---- reading ---- */

static void read_attributes(cse_field_reader *r, const json_t *object, cse_attributes *attributes)
{
    const json_t *integers = json_object_get(object, "integers");
    const json_t *numbers = json_object_get(object, "numbers");
    if (json_array_size(integers) > CSE_MAX_INTEGERS ||
        json_array_size(numbers) > CSE_MAX_NUMBERS) {
        cse_field_wrong(r, "attributes");
        return;
    }
    attributes->integer_count = (int)json_array_size(integers);
    attributes->number_count = (int)json_array_size(numbers);
    for (int i = 0; i < attributes->integer_count; i++)
        attributes->integers[i] = json_integer_value(json_array_get(integers, (size_t)i));
    for (int i = 0; i < attributes->number_count; i++)
        attributes->numbers[i] = cse_field_double(r, json_array_get(numbers, (size_t)i));
}

/* Inputs must be earlier nodes, so the node is appended after its fields are read. */
static void read_node(cse_field_reader *r, const json_t *object)
{
    const json_t *inputs = json_object_get(object, "inputs");
    const json_t *accumulation = json_object_get(object, "accumulation");
    const char *op_name = json_string_value(json_object_get(object, "op"));
    cse_node *operands[CSE_MAX_INPUTS];
    cse_node node = { .op = cse_op_find(op_name != NULL ? op_name : ""),
                      .inputs = operands,
                      .input_count = (int)json_array_size(inputs),
                      .scope = "" };
    if (node.op == NULL || json_array_size(inputs) > CSE_MAX_INPUTS)
        cse_field_wrong(r, "op");
    read_attributes(r, object, &node.attributes);
    cse_fields_read(r, node_fields, object, &node);
    if (accumulation != NULL)
        cse_fields_read(r, accumulation_fields, accumulation, &node.accumulation);
    if (!cse_dtype_is_float(node.accumulation.across))
        cse_field_wrong(r, "accumulation");
    for (int i = 0; r->status == CSE_OK && i < node.input_count; i++)
        operands[i] = cse_field_node(r, json_array_get(inputs, (size_t)i));
    if (r->status != CSE_OK)
        return;
    node.batch = cse_node_is_batch(&node);
    cse_graph_clone(r->graph, &node);
}

static void read_table(cse_field_reader *r, const table *t, const json_t *rows)
{
    int count = (int)json_array_size(rows), capacity = count + 1;
    char *records = cse_calloc((size_t)capacity, t->record_bytes), *at = (char *)r->graph;
    if (!json_is_array(rows))
        cse_field_wrong(r, t->key);
    for (int i = 0; r->status == CSE_OK && i < count; i++)
        cse_fields_read(r, t->fields, json_array_get(rows, (size_t)i),
                        records + (size_t)i * t->record_bytes);
    memcpy(at + t->records, &records, sizeof records);
    memcpy(at + t->count, &count, sizeof count);
    memcpy(at + t->capacity, &capacity, sizeof capacity);
}

/* Names must be unique, and each state's offset the one that declaring it again would give. */
static void check_states(cse_field_reader *r)
{
    cse_graph *declared = cse_graph_new(1, 1);
    for (int s = 0, index; r->status == CSE_OK && s < r->graph->state_count; s++) {
        r->status = cse_graph_add_state(declared, &r->graph->states[s], &index);
        if (r->status == CSE_OK &&
            declared->states[s].offset_bytes != r->graph->states[s].offset_bytes)
            cse_field_wrong(r, "state offset");
    }
    cse_graph_destroy(&declared);
}

static void read_group_nodes(cse_field_reader *r, cse_group *group, const json_t *nodes)
{
    group->node_count = (int)json_array_size(nodes);
    group->nodes =
        cse_arena_alloc(r->graph->arena, (size_t)(group->node_count + 1) * sizeof(cse_node *));
    for (int n = 0; n < group->node_count; n++)
        group->nodes[n] = cse_field_node(r, json_array_get(nodes, (size_t)n));
}

static void check_tracked(cse_field_reader *r)
{
    for (int i = 0; r->status == CSE_OK && i < r->graph->tracked_count; i++) {
        cse_tracked_tensor *row = &r->graph->tracked[i];
        bool fits = row->node->group >= 0 &&
                    (row->kind != CSE_TRACKED_STATE || row->node->op == &cse_op_assign) &&
                    (row->kind != CSE_TRACKED_GRADIENT || row->node->op == &cse_op_partial) &&
                    (row->kept == NULL) == (row->delta == NULL) &&
                    (row->kept == NULL || (row->kept->group == row->node->group &&
                                           row->delta->group == row->node->group));
        if (!fits)
            cse_field_wrong(r, "tracked");
        row->op = "";
        row->node->tracked = i + 1;
    }
}

static void read_graph(cse_field_reader *r, const json_t *root)
{
    const json_t *nodes = json_object_get(root, "nodes"), *groups = json_object_get(root, "groups");
    const json_t *spaces = json_object_get(root, "space_bytes");
    cse_fields_read(r, graph_fields, root, r->graph);
    if (json_integer_value(json_object_get(root, "version")) != FORMAT_VERSION)
        cse_field_wrong(r, "version");
    if (!json_is_array(nodes))
        cse_field_wrong(r, "nodes");
    for (size_t n = 0; r->status == CSE_OK && n < json_array_size(nodes); n++)
        read_node(r, json_array_get(nodes, n));
    for (int t = 0; r->status == CSE_OK && t < TABLES; t++)
        read_table(r, &tables[t], json_object_get(root, tables[t].key));
    for (int g = 0; r->status == CSE_OK && g < r->graph->group_count; g++)
        read_group_nodes(r, &r->graph->groups[g],
                         json_object_get(json_array_get(groups, (size_t)g), "nodes"));
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        r->graph->space_bytes[s] = json_integer_value(json_array_get(spaces, (size_t)s));
    check_states(r);
    check_tracked(r);
}

cse_status cse_graph_from_json(const char *json, size_t size, cse_graph **graph)
{
    json_error_t error;
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return cse_fail(CSE_DATA, "graph file: line %d, column %d: %s", error.line, error.column,
                        error.text);
    cse_field_reader r = { .graph = cse_graph_new(1, 1) };
    read_graph(&r, root);
    json_decref(root);
    if (r.status == CSE_OK)
        r.status = cse_graph_verify(r.graph);
    if (r.status != CSE_OK)
        cse_graph_destroy(&r.graph);
    *graph = r.graph;
    return r.status;
}
