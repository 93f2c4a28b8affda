/* Gradients of convolutions; see convolution.h. */
#include "engine/graph/ops/convolution.h"

#include <assert.h>

cse_tensor *cse_trace_conv2d_gradient(const cse_op *op, cse_tensor *const inputs[2],
                                      cse_shape shape, const cse_tensor *like)
{
    cse_attributes attributes = { .integer_count = 0 };
    if (!cse_trace_is_poison(like)) {
        attributes = like->attributes;
        attributes.integer_count = CSE_CONV_SIZES + 2;
        for (int i = 0; i < 2; i++)
            attributes.integers[CSE_CONV_SIZES + i] = shape.dims[2 + i];
    }
    return cse_trace_2(op, &attributes, inputs[0], inputs[1]);
}

cse_tensor *cse_as_image(cse_tensor *x, const char *op)
{
    if (cse_trace_is_poison(x))
        return x;
    const int64_t *dims = x->shape.dims;
    return x->shape.rank == 3
               ? cse_reshape(x, cse_shape_of(dims[0], dims[1], 1, dims[2]))
               : cse_trace_fail(CSE_SHAPE, "%s: input and weight must have three axes", op);
}

cse_tensor *cse_from_image(cse_tensor *x)
{
    if (cse_trace_is_poison(x))
        return x;
    const int64_t *dims = x->shape.dims;
    return cse_reshape(x, cse_shape_of(dims[0], dims[1], dims[3]));
}

cse_status cse_infer_conv2d_type(const cse_infer *in, cse_dtype *dtype)
{
    *dtype = in->dtypes[0];
    if (in->dtypes[0] != in->dtypes[1] || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "both inputs must be floats of one type; cast them first");
    return CSE_OK;
}

/* The shape of `wanted`, and the sizes of the convolution it belongs to. */
static cse_status sizes_of(const cse_attributes *attributes, const cse_shape inputs[2],
                           cse_conv2d_tensor wanted, cse_conv2d_sizes *sizes, cse_shape *shape)
{
    cse_shape other = inputs[0], dy = inputs[1];
    const int64_t *kept = attributes->integers + CSE_CONV_SIZES;
    int64_t groups = attributes->integers[CSE_CONV_GROUPS];
    char text[128];
    assert(wanted == CSE_CONV2D_INPUT || wanted == CSE_CONV2D_WEIGHT);
    if (other.rank != 4 || dy.rank != 4 || groups < 1 ||
        attributes->integer_count < CSE_CONV_SIZES + 2)
        return cse_fail(CSE_SHAPE, "both inputs must have four axes");
    if (wanted == CSE_CONV2D_INPUT) {
        *shape = cse_shape_of(dy.dims[0], other.dims[1] * groups, kept[0], kept[1]);
        CSE_TRY(cse_conv2d_sizes_of(attributes, *shape, other, sizes));
    } else {
        *shape = cse_shape_of(dy.dims[1], other.dims[1] / groups, kept[0], kept[1]);
        CSE_TRY(cse_conv2d_sizes_of(attributes, other, *shape, sizes));
    }
    cse_shape made = cse_shape_of(sizes->batch, sizes->out, sizes->made[0], sizes->made[1]);
    if (!cse_shape_equal(made, dy))
        return cse_fail(CSE_SHAPE, "the output's gradient must be %s",
                        cse_shape_text(made, text, sizeof text));
    return CSE_OK;
}

cse_status cse_infer_conv2d_gradient(const cse_infer *in, cse_conv2d_tensor wanted,
                                     cse_shape *shape, cse_dtype *dtype)
{
    cse_conv2d_sizes sizes;
    CSE_TRY(cse_infer_conv2d_type(in, dtype));
    return sizes_of(in->attributes, in->shapes, wanted, &sizes, shape);
}

void cse_reference_conv2d_gradient(const cse_reference *call, cse_conv2d_tensor wanted)
{
    const cse_tensor *node = call->node;
    const cse_shape inputs[2] = { node->inputs[0]->shape, node->inputs[1]->shape };
    const cse_conv2d_roles roles = {
        .made = (int)wanted,
        .a = wanted == CSE_CONV2D_INPUT ? CSE_CONV2D_WEIGHT : CSE_CONV2D_INPUT,
        .b = CSE_CONV2D_OUTPUT,
    };
    cse_conv2d_sizes sizes;
    cse_shape shape;
    if (sizes_of(&node->attributes, inputs, wanted, &sizes, &shape) == CSE_OK)
        cse_reference_conv2d(call, &sizes, roles);
}
