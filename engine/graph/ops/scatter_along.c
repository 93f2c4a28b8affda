/* scatter_along: elements written by an index along one axis.
 *
 * Inputs: x, int32 indices with x's sizes but for the axis, and the elements, of the indices' shape
 * and x's type. Attributes: integers[0] the axis. Where several elements go to one place the last
 * one is kept, so that there is one result only. */
#include "engine/graph/ops/along.h"

/** x [.., n, ..] in which element indices[j] along `axis` (negative: from the end) is replaced by
 * element j of `values`, at every place of the other axes: PyTorch's scatter. The indices (int32)
 * and values have x's sizes but for the axis; an index outside [0, n) is left out; of several equal
 * ones the last counts, for the gradient, too. */
CSE_API cse_tensor *cse_scatter_along(cse_tensor *x, cse_tensor *indices, cse_tensor *values,
                                      int axis)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace(&cse_op_scatter_along, &attributes, 3, (cse_tensor *[]){ x, indices, values });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_on_axis(in, shape, dtype));
    CSE_TRY(cse_infer_indices_on_axis(in));
    if (in->dtypes[2] != *dtype || !cse_shape_equal(in->shapes[2], in->shapes[1]))
        return cse_fail(CSE_SHAPE, "the values must be %s of the indices' shape",
                        cse_dtype_name(*dtype));
    return CSE_OK;
}

/* Places that were written get nothing. Each value that was kept gets the gradient of its place:
 * it is kept if the number of its position is what such a scatter of positions keeps. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axis = (int)node->attributes.integers[0];
    cse_tensor *x = node->inputs[0], *indices = node->inputs[1];
    cse_shape column = { .rank = indices->shape.rank }, all = indices->shape;
    for (int i = 0; i < column.rank; i++)
        column.dims[i] = i == axis ? all.dims[i] : 1;
    cse_tensor *positions =
        cse_broadcast_to(cse_reshape(cse_iota(all.dims[axis], 0, 1), column), all);
    cse_tensor *none = cse_broadcast_to(cse_constant_int(-1), x->shape);
    cse_tensor *kept = cse_scatter_along(none, indices, positions, axis);
    cse_tensor *zero = cse_constant_like(output_gradient, 0);
    gradients[0] = cse_where(cse_less(kept, cse_constant_int(0)), output_gradient, zero);
    gradients[2] = cse_where(cse_equal(cse_take_along(kept, indices, axis), positions),
                             cse_take_along(output_gradient, indices, axis), zero);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t axis = node->attributes.integers[0];
    cse_along from = cse_along_axis(node->inputs[1]->shape, axis);
    cse_along to = cse_along_axis(node->shape, axis);
    const int32_t *indices = call->inputs[1];
    for (int64_t at = 0; at < to.before * to.length * to.after; at++)
        cse_write_element(node->dtype, call->output, at,
                          cse_read_element(node->dtype, call->inputs[0], at));
    for (int64_t at = 0; at < from.before * from.length * from.after; at++) {
        int64_t i = at / (from.length * from.after), k = at % from.after, j = indices[at];
        if (j >= 0 && j < to.length)
            cse_write_element(node->dtype, call->output, (i * to.length + j) * to.after + k,
                              cse_read_element(node->dtype, call->inputs[2], at));
    }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    int64_t axis = node->attributes.integers[0];
    cse_along from = cse_along_axis(node->inputs[1]->shape, axis);
    cse_along to = cse_along_axis(node->shape, axis);
    cse_text_add(out,
                 "enum { TO = %lld, LENGTH = %lld, AFTER = %lld };\n"
                 "if (y != x0)\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "y[i] = x0[i];\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t j = 0; j < LENGTH; j++)\n"
                 "for (int64_t k = 0; k < AFTER; k++) {\n"
                 "const int64_t at = (i * LENGTH + j) * AFTER + k;\n"
                 "const int32_t index = x1[at];\n"
                 "if (index >= 0 && index < TO)\n"
                 "y[(i * TO + index) * AFTER + k] = x2[at];\n"
                 "}\n",
                 (long long)to.length, (long long)from.length, (long long)from.after,
                 (long long)cse_shape_elements(node->shape), (long long)from.before);
}

const cse_op cse_op_scatter_along = {
    .name = "scatter_along",
    .summary = "elements written by an index along one axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
    .updates = 1,
};
