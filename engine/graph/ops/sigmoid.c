/* sigmoid: the logistic function of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** 1 / (1 + exp(-x)). */
CSE_API cse_tensor *cse_sigmoid(cse_tensor *x)
{
    return cse_trace_1(&cse_op_sigmoid, NULL, x);
}

/** The first half of x along `axis` (negative: from the end) times the logistic function of the
 * second, as PyTorch's glu. */
CSE_API cse_tensor *cse_glu(cse_tensor *x, int axis)
{
    int along = cse_trace_is_poison(x) ? -1 : cse_axis(axis, x->shape.rank);
    if (along < 0)
        return cse_slice_axis(x, axis, 0, 1);
    int64_t size = x->shape.dims[along];
    if (size % 2 != 0)
        return cse_trace_fail(CSE_SHAPE, "glu: axis %d has %lld elements, which is odd", axis,
                              (long long)size);
    return cse_mul(cse_slice_axis(x, along, 0, size / 2),
                   cse_sigmoid(cse_slice_axis(x, along, size / 2, size)));
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *slope = cse_mul(node, cse_sub(cse_constant_like(node, 1), node));
    gradients[0] = cse_mul(output_gradient, slope);
}

static double value_of(double x)
{
    return 1 / (1 + exp(-x));
}

const cse_op cse_op_sigmoid = {
    CSE_UNARY,
    .name = "sigmoid",
    .summary = "the logistic function of each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "cse_sigmoid($0)",
};
