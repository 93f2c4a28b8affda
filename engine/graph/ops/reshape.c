/* reshape: the same values in the same row-major order under another shape.
 *
 * Attributes: integers are the sizes of the result, all known. */
#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/identities.h"

/** x with `shape`, which must have as many elements. One size may be -1: it is inferred. */
CSE_API cse_tensor *cse_reshape(cse_tensor *x, cse_shape shape)
{
    cse_attributes attributes = { .integer_count = 0 };
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_reshape, NULL, x);
    if (cse_shape_equal(x->shape, shape))
        return x;
    int64_t known = 1;
    int open = -1;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == -1 && open < 0)
            open = i;
        else
            known *= shape.dims[i];
    if (open >= 0 && known > 0 && cse_shape_elements(x->shape) % known == 0)
        shape.dims[open] = cse_shape_elements(x->shape) / known;
    cse_attributes_add_shape(&attributes, shape);
    return cse_trace_1(&cse_op_reshape, &attributes, x);
}

/** x with the axes from `first` on merged into one: first = 1 gives [batch, features] from [batch,
 * ...]. */
CSE_API cse_tensor *cse_flatten(cse_tensor *x, int first)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_reshape, NULL, x);
    int axis = cse_axis(first, x->shape.rank);
    if (axis < 0)
        return cse_trace_fail(CSE_SHAPE, "flatten: axis %d is outside rank %d", first,
                              x->shape.rank);
    cse_shape shape = { .rank = axis + 1 };
    shape.dims[axis] = 1;
    for (int i = 0; i < x->shape.rank; i++)
        if (i < axis)
            shape.dims[i] = x->shape.dims[i];
        else
            shape.dims[axis] *= x->shape.dims[i];
    return cse_reshape(x, shape);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    char text[128];
    *shape = cse_attributes_shape(in->attributes, 0);
    *dtype = in->dtypes[0];
    if (cse_check_size(*shape) != CSE_OK ||
        cse_shape_elements(*shape) != cse_shape_elements(in->shapes[0]))
        return cse_fail(CSE_SHAPE,
                        "%lld elements do not fill %s; one size may be -1, the others must divide",
                        (long long)cse_shape_elements(in->shapes[0]),
                        cse_shape_text(*shape, text, sizeof text));
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_reshape(output_gradient, node->inputs[0]->shape);
}

static void reference(const cse_reference *call)
{
    if (call->output != call->inputs[0])
        memcpy(call->output, call->inputs[0],
               (size_t)cse_shape_elements(call->node->shape) * cse_dtype_size(call->node->dtype));
}

/* Merges a reshape of a reshape into one, and removes a reshape to the same shape. */
static cse_tensor *simplify(cse_tensor *node)
{
    cse_tensor *same = cse_drop_same_shape(node);
    if (same != NULL || node->inputs[0]->op != node->op)
        return same;
    node->inputs[0] = node->inputs[0]->inputs[0];
    return cse_drop_same_shape(node);
}

const cse_op cse_op_reshape = {
    .name = "reshape",
    .summary = "the same values under another shape",
    .kind = CSE_OP_RESHAPE,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .simplify = simplify,
};
