/* take_along: elements chosen by an index along one axis, at every place of the other axes.
 *
 * Inputs: x, and int32 indices with x's sizes but for the axis. Attributes: integers[0] the axis.
 * It is gather of PyTorch and take_along_axis of NumPy and JAX. */
#include <math.h>

#include "engine/graph/ops/along.h"

/** Of x [.., n, ..] and int32 indices [.., m, ..], which have x's sizes but for `axis` (negative:
 * from the end): element j along the axis is x's element indices[j] there, as in PyTorch's gather.
 * An index outside [0, n) gives NaN (int32: INT32_MIN). The gradient is cse_scatter_add_along. */
CSE_API cse_tensor *cse_take_along(cse_tensor *x, cse_tensor *indices, int axis)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace(&cse_op_take_along, &attributes, 2, (cse_tensor *[]){ x, indices });
}

/** The elements `indices` (int32 [m]) along `axis` (negative: from the end) of x: x's shape with m
 * in place of the axis, as PyTorch's index_select. */
CSE_API cse_tensor *cse_index_select(cse_tensor *x, int axis, cse_tensor *indices)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(indices))
        return cse_trace(&cse_op_take_along, NULL, 2, (cse_tensor *[]){ x, indices });
    int along = cse_axis(axis, x->shape.rank);
    if (along < 0 || indices->shape.rank != 1)
        return cse_trace_fail(CSE_SHAPE,
                              "index_select: axis %d of rank %d and indices of rank %d; accepted: "
                              "an axis of x, indices of rank 1",
                              axis, x->shape.rank, indices->shape.rank);
    cse_shape column = { .rank = x->shape.rank }, all = x->shape;
    for (int i = 0; i < column.rank; i++)
        column.dims[i] = i == along ? indices->shape.dims[0] : 1;
    all.dims[along] = indices->shape.dims[0];
    return cse_take_along(x, cse_broadcast_to(cse_reshape(indices, column), all), along);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_on_axis(in, shape, dtype));
    CSE_TRY(cse_infer_indices_on_axis(in));
    *shape = in->shapes[1];
    return CSE_OK;
}

/* Added in float32, as the gradient of gather. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axis = (int)node->attributes.integers[0];
    cse_dtype sums = cse_dtype_is_float(node->dtype) ? CSE_FLOAT32 : node->dtype;
    gradients[0] = cse_cast(cse_scatter_add_along(cse_cast(output_gradient, sums), node->inputs[1],
                                                  axis, node->inputs[0]->shape.dims[axis]),
                            output_gradient->dtype);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t axis = node->attributes.integers[0];
    cse_along from = cse_along_axis(node->inputs[0]->shape, axis);
    cse_along to = cse_along_axis(node->shape, axis);
    const int32_t *indices = call->inputs[1];
    for (int64_t at = 0; at < to.before * to.length * to.after; at++) {
        int64_t i = at / (to.length * to.after), k = at % to.after, j = indices[at];
        double value = node->dtype == CSE_INT32 ? INT32_MIN : NAN;
        if (j >= 0 && j < from.length)
            value = cse_read_element(node->dtype, call->inputs[0],
                                     (i * from.length + j) * from.after + k);
        cse_write_element(node->dtype, call->output, at, value);
    }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    int64_t axis = node->attributes.integers[0];
    cse_along from = cse_along_axis(node->inputs[0]->shape, axis);
    cse_along to = cse_along_axis(node->shape, axis);
    cse_text_add(out,
                 "enum { FROM = %lld, LENGTH = %lld, AFTER = %lld };\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t j = 0; j < LENGTH; j++)\n"
                 "for (int64_t k = 0; k < AFTER; k++) {\n"
                 "const int64_t at = (i * LENGTH + j) * AFTER + k;\n"
                 "const int32_t index = x1[at];\n"
                 "if (index >= 0 && index < FROM)\n"
                 "y[at] = x0[(i * FROM + index) * AFTER + k];\n"
                 "else\n"
                 "y[at] = %s(%s);\n"
                 "}\n",
                 (long long)from.length, (long long)to.length, (long long)to.after,
                 (long long)to.before, cse_emitted_store(node->dtype),
                 node->dtype == CSE_INT32 ? "-2147483647 - 1" : "__builtin_nanf(\"\")");
}

const cse_op cse_op_take_along = {
    .name = "take_along",
    .summary = "elements chosen by an index along one axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
