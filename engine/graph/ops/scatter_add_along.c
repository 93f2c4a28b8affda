/* scatter_add_along: elements added up by an index along one axis; the gradient of take_along.
 *
 * Inputs: x, int32 indices of x's shape. Attributes: integers[0] the axis, integers[1] the size of
 * the result along it. Elements of one place are added in their order, in float32. */
#include "engine/graph/ops/along.h"

/** Zeros with x's shape and `size` along `axis` (negative: from the end), to which each element of
 * x is added at its index along the axis: PyTorch's scatter_add on zeros. Indices (int32, of x's
 * shape) outside [0, size) are left out; float32 or int32. */
CSE_API cse_tensor *cse_scatter_add_along(cse_tensor *x, cse_tensor *indices, int axis,
                                          int64_t size)
{
    cse_attributes attributes = { .integer_count = 2, .integers = { 0, size } };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace(&cse_op_scatter_add_along, &attributes, 2, (cse_tensor *[]){ x, indices });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_on_axis(in, shape, dtype));
    if (in->dtypes[0] != CSE_FLOAT32 && in->dtypes[0] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "the input must be float32 or int32, not %s; cast it first",
                        cse_dtype_name(in->dtypes[0]));
    if (in->dtypes[1] != CSE_INT32 || !cse_shape_equal(in->shapes[1], in->shapes[0]))
        return cse_fail(CSE_SHAPE, "the indices must be int32 of the input's shape");
    if (in->attributes->integers[1] < 1)
        return cse_fail(CSE_SHAPE, "the size along the axis must be at least 1, not %lld",
                        (long long)in->attributes->integers[1]);
    shape->dims[in->attributes->integers[0]] = in->attributes->integers[1];
    return cse_check_size(*shape);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axis = (int)node->attributes.integers[0];
    cse_tensor *indices = node->inputs[1];
    cse_tensor *size = cse_constant_int((int32_t)node->attributes.integers[1]);
    cse_tensor *inside =
        cse_logical_and(cse_greater_equal(indices, cse_constant_int(0)), cse_less(indices, size));
    cse_tensor *taken = cse_take_along(output_gradient, indices, axis);
    gradients[0] = cse_where(inside, taken, cse_constant_like(taken, 0));
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t axis = node->attributes.integers[0], count = cse_shape_elements(node->shape);
    cse_along from = cse_along_axis(node->inputs[0]->shape, axis);
    const int32_t *indices = call->inputs[1];
    for (int64_t at = 0; at < count; at++)
        cse_write_element(node->dtype, call->output, at, 0);
    for (int64_t at = 0; at < from.before * from.length * from.after; at++) {
        int64_t i = at / (from.length * from.after), k = at % from.after, j = indices[at];
        int64_t target = (i * node->attributes.integers[1] + j) * from.after + k;
        if (j >= 0 && j < node->attributes.integers[1])
            cse_write_element(node->dtype, call->output, target,
                              cse_read_element(node->dtype, call->output, target) +
                                  cse_read_element(node->dtype, call->inputs[0], at));
    }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_along from = cse_along_axis(node->inputs[0]->shape, node->attributes.integers[0]);
    cse_text_add(out,
                 "enum { SIZE = %lld, LENGTH = %lld, AFTER = %lld };\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "y[i] = 0;\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t j = 0; j < LENGTH; j++)\n"
                 "for (int64_t k = 0; k < AFTER; k++) {\n"
                 "const int64_t at = (i * LENGTH + j) * AFTER + k;\n"
                 "const int32_t index = x1[at];\n"
                 "if (index >= 0 && index < SIZE)\n"
                 "y[(i * SIZE + index) * AFTER + k] += x0[at];\n"
                 "}\n",
                 (long long)node->attributes.integers[1], (long long)from.length,
                 (long long)from.after, (long long)cse_shape_elements(node->shape),
                 (long long)from.before);
}

const cse_op cse_op_scatter_add_along = {
    .name = "scatter_add_along",
    .summary = "elements added up by an index along one axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
