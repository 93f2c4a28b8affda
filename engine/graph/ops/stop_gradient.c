/* stop_gradient: the same values, through which no gradient goes. */
#include "engine/graph/ops/elementwise.h"

/** x, as a constant to differentiation: PyTorch's detach, JAX's stop_gradient. */
CSE_API cse_tensor *cse_stop_gradient(cse_tensor *x)
{
    return cse_trace_1(&cse_op_stop_gradient, NULL, x);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    (void)output_gradient;
    gradients[0] = NULL;
}

static double value_of(double x)
{
    return x;
}

/* After differentiation the op means nothing. */
static cse_tensor *simplify(cse_tensor *node)
{
    return node->inputs[0];
}

const cse_op cse_op_stop_gradient = {
    CSE_UNARY,
    .name = "stop_gradient",
    .summary = "the same values, through which no gradient goes",
    .precision = CSE_FAMILY_MOVEMENT,
    .infer = infer,
    .gradient = gradient,
    .unary = value_of,
    .expression = "$0",
    .simplify = simplify,
};
