/* flip: the elements along some axes in the opposite order.
 *
 * Attributes: integers[0] bit i is set where axis i is turned. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** x with the elements along each of `axes` (negative: from the end) in the opposite order. */
CSE_API cse_tensor *cse_flip(cse_tensor *x, const int axes[], int axis_count)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_flip, &attributes, x);
    for (int i = 0; i < axis_count; i++) {
        int axis = cse_axis(axes[i], x->shape.rank);
        if (axis < 0)
            return cse_trace_fail(CSE_SHAPE, "flip: axis %d is outside rank %d", axes[i],
                                  x->shape.rank);
        attributes.integers[0] |= INT64_C(1) << axis;
    }
    return cse_trace_1(&cse_op_flip, &attributes, x);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_trace_1(&cse_op_flip, &node->attributes, output_gradient);
}

static cse_walk walk_of(const cse_tensor *node)
{
    cse_walk walk = { .shape = node->shape };
    cse_shape_strides(node->shape, walk.source_strides);
    cse_shape_strides(node->shape, walk.target_strides);
    for (int i = 0; i < node->shape.rank; i++)
        if (node->attributes.integers[0] >> i & 1 && node->shape.dims[i] > 0) {
            walk.source_offset += (node->shape.dims[i] - 1) * walk.source_strides[i];
            walk.source_strides[i] = -walk.source_strides[i];
        }
    return walk;
}

static void reference(const cse_reference *call)
{
    cse_walk walk = walk_of(call->node);
    cse_walk_copy(&walk, call->inputs[0], call->output, cse_dtype_size(call->node->dtype));
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_walk walk = walk_of(node);
    cse_walk_emit(out, &walk, "x0");
}

const cse_op cse_op_flip = {
    .name = "flip",
    .summary = "the elements along some axes in the opposite order",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
