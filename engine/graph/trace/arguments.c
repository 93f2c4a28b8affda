/* Shared shape rules, element access and strided loops; see arguments.h. */
#include "engine/graph/trace/arguments.h"

#include <string.h>

#include "engine/base/types/dtype.h"

static cse_status infer_same(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    for (int i = 1; i < in->input_count; i++) {
        if (in->dtypes[i] != in->dtypes[0])
            return cse_fail(CSE_SHAPE,
                            "the inputs must have one type, not %s and %s; cast one of them first",
                            cse_dtype_name(in->dtypes[0]), cse_dtype_name(in->dtypes[i]));
        if (!cse_shape_equal(in->shapes[i], in->shapes[0]))
            return cse_fail(CSE_SHAPE, "the inputs must have one shape");
    }
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

cse_status cse_infer_floats(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(infer_same(in, shape, dtype));
    if (!cse_dtype_is_float(*dtype))
        return cse_fail(CSE_SHAPE, "the inputs must be floats, not %s; cast them first",
                        cse_dtype_name(*dtype));
    return CSE_OK;
}

cse_status cse_infer_numbers(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(infer_same(in, shape, dtype));
    if (*dtype == CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the inputs must be numbers, not bool; cast them first");
    return CSE_OK;
}

cse_status cse_infer_integers(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(infer_same(in, shape, dtype));
    if (*dtype != CSE_INT32)
        return cse_fail(CSE_SHAPE, "the inputs must be int32, not %s; cast them first",
                        cse_dtype_name(*dtype));
    return CSE_OK;
}

cse_status cse_infer_comparison(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_numbers(in, shape, dtype));
    *dtype = CSE_BOOL;
    return CSE_OK;
}

cse_status cse_infer_logical(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(infer_same(in, shape, dtype));
    if (*dtype != CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the inputs must be bool, not %s; compare or cast them first",
                        cse_dtype_name(*dtype));
    return CSE_OK;
}

double cse_read_other_element(cse_dtype dtype, const void *values, int64_t index)
{
    if (dtype == CSE_INT32)
        return ((const int32_t *)values)[index];
    if (dtype == CSE_BOOL)
        return ((const unsigned char *)values)[index] != 0;
    return cse_float_from_format(dtype, ((const uint16_t *)values)[index]);
}

void cse_write_other_element(cse_dtype dtype, void *values, int64_t index, double value)
{
    if (dtype == CSE_INT32)
        ((int32_t *)values)[index] = (int32_t)(uint32_t)(int64_t)value;
    else if (dtype == CSE_BOOL)
        ((unsigned char *)values)[index] = value != 0;
    else
        ((uint16_t *)values)[index] = cse_round_to_bits(dtype, (float)value);
}

static bool is_reduced(const cse_attributes *attributes, int axis)
{
    bool reduced = false;
    for (int i = 1; i < attributes->integer_count; i++)
        reduced = reduced || attributes->integers[i] == axis;
    return reduced;
}

cse_shape cse_reduce_kept_shape(const cse_tensor *node)
{
    cse_shape shape = node->inputs[0]->shape;
    for (int i = 0; i < shape.rank; i++)
        if (is_reduced(&node->attributes, i))
            shape.dims[i] = 1;
    return shape;
}

void cse_reduce_walks(const cse_tensor *node, cse_walk *outer, cse_walk *inner)
{
    cse_shape shape = node->inputs[0]->shape;
    int64_t strides[CSE_MAX_RANK], made = 1;
    cse_shape_strides(shape, strides);
    *outer = *inner = (cse_walk){ .source_offset = 0 };
    for (int i = 0; i < shape.rank; i++) {
        cse_walk *walk = is_reduced(&node->attributes, i) ? inner : outer;
        walk->source_strides[walk->shape.rank] = strides[i];
        walk->shape.dims[walk->shape.rank++] = shape.dims[i];
    }
    for (int i = outer->shape.rank - 1; i >= 0; i--) {
        outer->target_strides[i] = made;
        made *= outer->shape.dims[i];
    }
}

bool cse_walk_advance(const cse_walk *walk, int64_t index[], int64_t *source, int64_t *target)
{
    for (int i = walk->shape.rank - 1; i >= 0; i--) {
        *source += walk->source_strides[i];
        *target += walk->target_strides[i];
        if (++index[i] < walk->shape.dims[i])
            return true;
        *source -= walk->source_strides[i] * walk->shape.dims[i];
        *target -= walk->target_strides[i] * walk->shape.dims[i];
        index[i] = 0;
    }
    return false;
}

void cse_reference_reduce(const cse_reference *call, double initial,
                          double (*function)(double, double))
{
    cse_walk outer, inner;
    cse_reduce_walks(call->node, &outer, &inner);
    int64_t at[CSE_MAX_RANK] = { 0 }, first = 0, out = 0, ignored = 0;
    cse_dtype from = call->node->inputs[0]->dtype;
    bool empty = cse_shape_elements(inner.shape) == 0;
    if (cse_shape_elements(outer.shape) == 0)
        return;
    do {
        double accumulator = initial;
        int64_t within[CSE_MAX_RANK] = { 0 }, source = first;
        if (!empty)
            do
                accumulator =
                    function(accumulator, cse_read_element(from, call->inputs[0], source));
            while (cse_walk_advance(&inner, within, &source, &ignored));
        cse_write_element(call->node->dtype, call->output, out, accumulator);
    } while (cse_walk_advance(&outer, at, &first, &out));
}

int cse_axis(int axis, int rank)
{
    int from_start = axis < 0 ? axis + rank : axis;
    return from_start >= 0 && from_start < rank ? from_start : -1;
}

cse_tensor *cse_trace_reduce(const cse_op *op, cse_tensor *x, const int axes[], int axis_count,
                             bool keep_dims)
{
    bool reduced[CSE_MAX_RANK] = { false };
    char text[128];
    if (cse_trace_is_poison(x))
        return cse_trace_1(op, NULL, x);
    for (int i = 0; i < axis_count; i++) {
        int axis = cse_axis(axes[i], x->shape.rank);
        if (axis < 0 || reduced[axis])
            return cse_trace_fail(
                CSE_SHAPE, "%s of %s: axis %d is %s; axes lie in [%d, %d] and are named once",
                op->name, cse_shape_text(x->shape, text, sizeof text), axes[i],
                axis < 0 ? "outside the shape" : "named twice", -x->shape.rank, x->shape.rank - 1);
        reduced[axis] = true;
    }
    cse_attributes attributes = { .integer_count = 1, .integers = { keep_dims } };
    for (int i = 0; i < x->shape.rank; i++)
        if (axis_count == 0 || reduced[i])
            attributes.integers[attributes.integer_count++] = i;
    return cse_trace_1(op, &attributes, x);
}

cse_status cse_infer_reduce(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] == CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the input must be numbers, not bool; cast it first");
    for (int i = 1; i < in->attributes->integer_count; i++)
        if (in->attributes->integers[i] < 0 || in->attributes->integers[i] >= in->shapes[0].rank)
            return cse_fail(CSE_SHAPE, "axis %lld is outside the shape",
                            (long long)in->attributes->integers[i]);
    *shape = cse_scalar_shape;
    for (int i = 0; i < in->shapes[0].rank; i++)
        if (!is_reduced(in->attributes, i))
            shape->dims[shape->rank++] = in->shapes[0].dims[i];
        else if (in->attributes->integers[0])
            shape->dims[shape->rank++] = 1;
    *dtype = in->dtypes[0];
    return CSE_OK;
}

static void emit_loops(cse_text *out, cse_shape shape, char index)
{
    for (int i = 0; i < shape.rank; i++)
        cse_text_add(out, "for (int64_t %c%d = 0; %c%d < %lld; %c%d++)\n", index, i, index, i,
                     (long long)shape.dims[i], index, i);
}

static void emit_position(cse_text *out, int64_t offset, const int64_t strides[], int rank,
                          char index)
{
    cse_text_add(out, "%lld", (long long)offset);
    for (int i = 0; i < rank; i++)
        if (strides[i] != 0)
            cse_text_add(out, " + %c%d * %lld", index, i, (long long)strides[i]);
}

const char *cse_emitted_load(cse_dtype dtype)
{
    static const char *const names[CSE_DTYPE_COUNT] = { [CSE_BFLOAT16] = "cse_load_bfloat16",
                                                        [CSE_FLOAT16] = "cse_load_float16",
                                                        [CSE_CBFLOAT16] = "cse_load_cbfloat16" };
    return names[dtype] != NULL ? names[dtype] : "";
}

const char *cse_emitted_store(cse_dtype dtype)
{
    static const char *const names[CSE_DTYPE_COUNT] = { [CSE_BFLOAT16] = "cse_store_bfloat16",
                                                        [CSE_FLOAT16] = "cse_store_float16",
                                                        [CSE_CBFLOAT16] = "cse_store_cbfloat16" };
    return names[dtype] != NULL ? names[dtype] : "";
}

void cse_emit_reduce(cse_text *out, const cse_tensor *node, const char *initial,
                     const char *combine)
{
    cse_walk outer, inner;
    cse_reduce_walks(node, &outer, &inner);
    const char *type = node->dtype == CSE_INT32 ? "int32_t" : "float";
    emit_loops(out, outer.shape, 'i');
    cse_text_add(out, "{\n%s accumulator = %s;\n", type, initial);
    emit_loops(out, inner.shape, 'j');
    cse_text_add(out, "{\n%s value = %s(x0[", type, cse_emitted_load(node->inputs[0]->dtype));
    emit_position(out, 0, outer.source_strides, outer.shape.rank, 'i');
    cse_text_add(out, " + ");
    emit_position(out, 0, inner.source_strides, inner.shape.rank, 'j');
    cse_text_add(out, "]);\n%s\n}\ny[", combine);
    emit_position(out, 0, outer.target_strides, outer.shape.rank, 'i');
    cse_text_add(out, "] = %s(accumulator);\n}\n", cse_emitted_store(node->dtype));
}

void cse_attributes_add_shape(cse_attributes *attributes, cse_shape shape)
{
    for (int i = 0; i < shape.rank; i++)
        attributes->integers[attributes->integer_count++] = shape.dims[i];
}

cse_shape cse_attributes_shape(const cse_attributes *attributes, int first)
{
    cse_shape shape = cse_scalar_shape;
    for (int i = first; i < attributes->integer_count && shape.rank < CSE_MAX_RANK; i++)
        shape.dims[shape.rank++] = attributes->integers[i];
    return shape;
}

cse_status cse_check_size(cse_shape shape)
{
    const int64_t most = (int64_t)1 << 44;
    int64_t elements = 1;
    char text[128];
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0 || (shape.dims[i] > 0 && elements > most / shape.dims[i]))
            return cse_fail(CSE_SHAPE,
                            "%s is no shape: sizes must be at least 0, and the elements "
                            "at most 2^44",
                            cse_shape_text(shape, text, sizeof text));
        elements *= shape.dims[i];
    }
    return CSE_OK;
}

void cse_walk_copy(const cse_walk *walk, const void *source, void *target, size_t element_bytes)
{
    int64_t index[CSE_MAX_RANK] = { 0 }, from = walk->source_offset, to = walk->target_offset;
    if (cse_shape_elements(walk->shape) == 0)
        return;
    do
        memcpy((char *)target + (size_t)to * element_bytes,
               (const char *)source + (size_t)from * element_bytes, element_bytes);
    while (cse_walk_advance(walk, index, &from, &to));
}

void cse_walk_emit(cse_text *out, const cse_walk *walk, const char *source)
{
    emit_loops(out, walk->shape, 'i');
    cse_text_add(out, "y[");
    emit_position(out, walk->target_offset, walk->target_strides, walk->shape.rank, 'i');
    cse_text_add(out, "] = %s[", source);
    emit_position(out, walk->source_offset, walk->source_strides, walk->shape.rank, 'i');
    cse_text_add(out, "];\n");
}

cse_tensor *cse_constant_like(const cse_tensor *x, double value)
{
    if (cse_trace_is_poison(x))
        return cse_trace_graph() ? cse_trace_graph()->poison : NULL;
    return cse_graph_constant(cse_trace_graph(), x->dtype, value);
}
