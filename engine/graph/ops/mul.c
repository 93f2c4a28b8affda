/* mul: the product of two tensors, element by element. */
#include "engine/graph/ops/elementwise.h"
#include "engine/graph/trace/identities.h"

/** a * b. Broadcasts. */
CSE_API cse_tensor *cse_mul(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_mul, a, b);
}

/** x * factor, a plain number rounded to x's type. */
CSE_API cse_tensor *cse_scale(cse_tensor *x, double factor)
{
    return cse_mul(x, cse_constant_like(x, factor));
}

/** The product of the elements along `axis` (negative: from the end), which goes away, or stays
 * with size 1 where `keep_dims`. Halves are multiplied until one element is left, so that zeros do
 * no harm to the gradient. */
CSE_API cse_tensor *cse_prod(cse_tensor *x, int axis, bool keep_dims)
{
    int along = cse_trace_is_poison(x) ? -1 : cse_axis(axis, x->shape.rank);
    if (along < 0)
        return cse_slice_axis(x, axis, 0, 1);
    while (!cse_trace_is_poison(x) && x->shape.dims[along] > 1) {
        int64_t half = x->shape.dims[along] / 2, size = x->shape.dims[along];
        cse_tensor *product =
            cse_mul(cse_slice_axis(x, along, 0, half), cse_slice_axis(x, along, half, 2 * half));
        cse_tensor *const parts[] = { product, size > 2 * half
                                                   ? cse_slice_axis(x, along, 2 * half, size)
                                                   : NULL };
        x = size > 2 * half ? cse_concat(parts, 2, along) : product;
    }
    if (keep_dims || cse_trace_is_poison(x))
        return x;
    cse_shape shape = { .rank = x->shape.rank - 1 };
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = x->shape.dims[i < along ? i : i + 1];
    return cse_reshape(x, shape);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, node->inputs[1]);
    gradients[1] = cse_mul(output_gradient, node->inputs[0]);
}

static double value_of(double a, double b)
{
    return a * b;
}

/* Products of int32 exceed what a double holds. */
static void reference(const cse_reference *call)
{
    const int32_t *a = call->inputs[0], *b = call->inputs[1];
    int32_t *y = call->output;
    if (call->node->dtype != CSE_INT32) {
        cse_reference_elementwise(call);
        return;
    }
    for (int64_t i = 0; i < cse_shape_elements(call->node->shape); i++)
        y[i] = (int32_t)(uint32_t)((int64_t)a[i] * b[i]);
}

/* x * 1 = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral(node, 1);
}

const cse_op cse_op_mul = {
    .name = "mul",
    .summary = "the product of two tensors, element by element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .reference = reference,
    .binary = value_of,
    .simplify = simplify,
    .expression = "$0 * $1",
};
