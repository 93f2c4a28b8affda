/* Nodes, attributes, constants and declarations as messages. */
#include "engine/formats/onnx/onnx_writer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"

enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_TYPE, NODE_ATTRIBUTE };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT,
    ATTRIBUTE_INTEGER,
    ATTRIBUTE_INTEGERS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INTEGER = 2, TYPE_INTEGERS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };
enum {
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    OF_TENSOR = 1,
    ELEMENT_TYPE = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_NAME = 2
};

const char *cse_onnx_fail(cse_onnx *o, const cse_node *node, const char *why)
{
    char shape[128];
    if (o->error == CSE_OK)
        o->error = cse_fail(CSE_SHAPE, "ONNX: %s %s of %s (%s:%d): %s", node->op->name,
                            cse_shape_text(node->shape, shape, sizeof shape),
                            node->scope[0] != '\0' ? node->scope : "the step",
                            node->file != NULL ? node->file : "?", node->line, why);
    return NULL;
}

/* ---- sizes ---- */

const cse_node *cse_onnx_other(const cse_onnx *o, const cse_node *node)
{
    return o->other->nodes[node->scratch];
}

bool cse_onnx_size_of(const cse_onnx *o, int64_t here, int64_t there, cse_onnx_size *size)
{
    const int64_t samples = o->graph->micro_batch_size, others = o->other->micro_batch_size;
    *size = (cse_onnx_size){ here, false };
    if (here == there)
        return true;
    *size = (cse_onnx_size){ here / samples, true };
    return here % samples == 0 && there % others == 0 && here / samples == there / others;
}

cse_onnx_size cse_onnx_axis(cse_onnx *o, const cse_node *node, int axis)
{
    cse_onnx_size size;
    if (!cse_onnx_size_of(o, node->shape.dims[axis], cse_onnx_other(o, node)->shape.dims[axis],
                          &size))
        cse_onnx_fail(o, node, "its shape is no multiple of the number of samples");
    return size;
}

/* ---- attributes ---- */

static void add_attribute(cse_text *attributes, const char *name, int type, cse_text *value)
{
    cse_text message = { 0 };
    cse_protobuf_add_text(&message, ATTRIBUTE_NAME, name);
    cse_text_add_bytes(&message, value->data, value->size);
    cse_protobuf_add_integer(&message, ATTRIBUTE_TYPE, type);
    cse_protobuf_take(attributes, NODE_ATTRIBUTE, &message);
    cse_text_clear(value);
}

void cse_onnx_integer(cse_text *attributes, const char *name, int64_t value)
{
    cse_text field = { 0 };
    cse_protobuf_add_integer(&field, ATTRIBUTE_INTEGER, value);
    add_attribute(attributes, name, TYPE_INTEGER, &field);
}

void cse_onnx_number(cse_text *attributes, const char *name, double value)
{
    cse_text field = { 0 };
    cse_protobuf_add_float(&field, ATTRIBUTE_FLOAT, (float)value);
    add_attribute(attributes, name, TYPE_FLOAT, &field);
}

void cse_onnx_integers(cse_text *attributes, const char *name, const int64_t *values, int count)
{
    cse_text field = { 0 };
    for (int i = 0; i < count; i++)
        cse_protobuf_add_integer(&field, ATTRIBUTE_INTEGERS, values[i]);
    add_attribute(attributes, name, TYPE_INTEGERS, &field);
}

/* ---- nodes ---- */

const char *cse_onnx_add(cse_onnx *o, const cse_node *node, const char *type,
                         const char *const inputs[], cse_text *attributes)
{
    cse_text message = { 0 };
    const char *name = cse_arena_printf(o->arena, "%s%s%s_%d", node->scope,
                                        node->scope[0] != '\0' ? "/" : "", type, o->written++);
    for (int i = 0; inputs[i] != NULL; i++)
        cse_protobuf_add_text(&message, NODE_INPUT, inputs[i]);
    cse_protobuf_add_text(&message, NODE_OUTPUT, name);
    cse_protobuf_add_text(&message, NODE_NAME, name);
    cse_protobuf_add_text(&message, NODE_TYPE, type);
    if (attributes != NULL && attributes->size > 0)
        cse_text_add_bytes(&message, attributes->data, attributes->size);
    if (attributes != NULL)
        cse_text_clear(attributes);
    cse_protobuf_take(&o->nodes, GRAPH_NODE, &message);
    return o->error == CSE_OK ? name : NULL;
}

/* ---- constants ---- */

void cse_onnx_constant(cse_onnx *o, const cse_onnx_tensor *tensor)
{
    cse_text message = { 0 };
    if (cse_name_index_find(&o->names, tensor->name) >= 0)
        return;
    cse_name_index_add(&o->names, tensor->name, o->names.count);
    for (int i = 0; i < tensor->shape.rank; i++)
        cse_protobuf_add_integer(&message, TENSOR_DIMS, tensor->shape.dims[i]);
    cse_protobuf_add_integer(&message, TENSOR_TYPE, tensor->type);
    cse_protobuf_add_text(&message, TENSOR_NAME, tensor->name);
    cse_protobuf_add_bytes(&message, TENSOR_RAW, tensor->data, tensor->bytes);
    cse_protobuf_take(&o->constants, GRAPH_INITIALIZER, &message);
}

const char *cse_onnx_scalar(cse_onnx *o, cse_dtype dtype, double value)
{
    const float single = (float)value;
    const int32_t whole = dtype == CSE_INT32 ? (int32_t)value : 0;
    const bool holds = value != 0;
    const char *name = cse_arena_printf(o->arena, "constant/%s %.9g",
                                        cse_dtype_is_float(dtype) ? "float" : cse_dtype_name(dtype),
                                        cse_dtype_is_float(dtype) ? (double)single : value);
    cse_onnx_constant(o, &(cse_onnx_tensor){ .name = name,
                                             .type = cse_onnx_type(dtype),
                                             .data = dtype == CSE_INT32  ? (const void *)&whole
                                                     : dtype == CSE_BOOL ? (const void *)&holds
                                                                         : (const void *)&single,
                                             .bytes = dtype == CSE_BOOL ? 1 : 4 });
    return name;
}

const char *cse_onnx_list(cse_onnx *o, const int64_t *values, int count)
{
    cse_text name = { 0 };
    cse_text_add(&name, "constant/list");
    for (int i = 0; i < count; i++)
        cse_text_add(&name, " %lld", (long long)values[i]);
    const char *kept = cse_arena_string(o->arena, name.data);
    cse_onnx_constant(o, &(cse_onnx_tensor){ .name = kept,
                                             .type = CSE_ONNX_INT64,
                                             .shape = cse_shape_of(count),
                                             .data = values,
                                             .bytes = (size_t)count * sizeof *values });
    cse_text_clear(&name);
    return kept;
}

const char *cse_onnx_row(cse_onnx *o, const int64_t first_and_step[2], int64_t count, bool column)
{
    const char *name = cse_arena_printf(o->arena, "constant/%s %lld %lld %lld",
                                        column ? "column" : "row", (long long)first_and_step[0],
                                        (long long)first_and_step[1], (long long)count);
    int32_t *values = cse_malloc((size_t)count * sizeof *values + 1);
    for (int64_t i = 0; i < count; i++)
        values[i] = (int32_t)(uint32_t)(first_and_step[0] + first_and_step[1] * i);
    cse_onnx_constant(
        o, &(cse_onnx_tensor){ .name = name,
                               .type = CSE_ONNX_INT32,
                               .shape = column ? cse_shape_of(count, 1) : cse_shape_of(count),
                               .data = values,
                               .bytes = (size_t)count * sizeof *values });
    free(values);
    return name;
}

/* ---- shapes ---- */

/* The number of samples, times `each`. */
static const char *samples_times(cse_onnx *o, const cse_node *node, int64_t each)
{
    if (o->batch == NULL) {
        const cse_node *input = NULL;
        for (int i = 0; i < o->graph->input_count && input == NULL; i++)
            if (o->values[o->graph->inputs[i].node->scratch] != NULL)
                input = o->graph->inputs[i].node;
        if (input == NULL)
            return cse_onnx_fail(o, node, "the number of samples is that of no input");
        cse_text attributes = { 0 };
        cse_onnx_integer(&attributes, "end", 1);
        cse_onnx_integer(&attributes, "start", 0);
        o->batch =
            cse_onnx_add(o, input, "Shape",
                         (const char *const[]){ o->values[input->scratch], NULL }, &attributes);
    }
    if (each == 1 || o->batch == NULL)
        return o->batch;
    return CSE_ONNX_ADD(o, node, "Mul", o->batch, cse_onnx_list(o, &each, 1));
}

const char *cse_onnx_shape(cse_onnx *o, const cse_node *node, const bool kept[])
{
    const char *parts[CSE_MAX_RANK + 1] = { NULL };
    cse_onnx_size sizes[CSE_MAX_RANK];
    int64_t fixed[CSE_MAX_RANK] = { 0 };
    const int rank = node->shape.rank;
    bool is_fixed = true;
    for (int i = 0; i < rank; i++) {
        sizes[i] =
            kept != NULL && kept[i] ? (cse_onnx_size){ 1, false } : cse_onnx_axis(o, node, i);
        fixed[i] = sizes[i].size;
        is_fixed = is_fixed && !sizes[i].per_sample;
    }
    if (is_fixed)
        return cse_onnx_list(o, fixed, rank);
    for (int i = 0; i < rank; i++)
        parts[i] = sizes[i].per_sample ? samples_times(o, node, sizes[i].size)
                                       : cse_onnx_list(o, &fixed[i], 1);
    cse_text attributes = { 0 };
    cse_onnx_integer(&attributes, "axis", 0);
    return cse_onnx_add(o, node, "Concat", parts, &attributes);
}

/* ---- declarations ---- */

int cse_onnx_type(cse_dtype dtype)
{
    return dtype == CSE_INT32 ? CSE_ONNX_INT32 : dtype == CSE_BOOL ? CSE_ONNX_BOOL : CSE_ONNX_FLOAT;
}

void cse_onnx_declare(cse_onnx *o, const cse_node *node, const char *name, int field,
                      cse_text *graph)
{
    cse_text shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };
    for (int i = 0; i < node->shape.rank; i++) {
        const cse_onnx_size size = cse_onnx_axis(o, node, i);
        cse_text dim = { 0 };
        if (!size.per_sample)
            cse_protobuf_add_integer(&dim, DIM_VALUE, size.size);
        else if (size.size == 1)
            cse_protobuf_add_text(&dim, DIM_NAME, "batch");
        else
            cse_protobuf_add_text(&dim, DIM_NAME,
                                  cse_arena_printf(o->arena, "%lld*batch", (long long)size.size));
        cse_protobuf_take(&shape, SHAPE_DIM, &dim);
    }
    cse_protobuf_add_integer(&tensor, ELEMENT_TYPE, cse_onnx_type(node->dtype));
    cse_protobuf_take(&tensor, TENSOR_SHAPE, &shape);
    cse_protobuf_take(&type, OF_TENSOR, &tensor);
    cse_protobuf_add_text(&value, VALUE_NAME, name);
    cse_protobuf_take(&value, VALUE_TYPE, &type);
    cse_protobuf_take(graph, field, &value);
}
