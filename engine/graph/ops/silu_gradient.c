/* silu_gradient: the gradient of silu with respect to its input.
 *
 * Inputs: x and the gradient of the output. An op of its own for the reason that gelu_gradient is
 * one. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The gradient with respect to x of cse_silu(x), from the gradient of its output. */
CSE_API cse_tensor *cse_silu_gradient(cse_tensor *x, cse_tensor *output_gradient)
{
    return cse_trace_2(&cse_op_silu_gradient, NULL, x, output_gradient);
}

/* With s the logistic function, the slope is s (1 + x (1 - s)) and its derivative
 * s (1 - s) (2 + x (1 - 2 s)). */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *one = cse_constant_like(x, 1), *s = cse_sigmoid(x);
    cse_tensor *turn = cse_mul(x, cse_sub(one, cse_scale(s, 2)));
    cse_tensor *bend = cse_mul(cse_mul(s, cse_sub(one, s)), cse_shift(turn, 2));
    gradients[0] = cse_mul(cse_mul(output_gradient, node->inputs[1]), bend);
    gradients[1] = cse_silu_gradient(x, output_gradient);
}

static double value_of(double x, double output_gradient)
{
    double s = 1 / (1 + exp(-x));
    return output_gradient * s * (1 + x * (1 - s));
}

const cse_op cse_op_silu_gradient = {
    CSE_BINARY,
    .name = "silu_gradient",
    .summary = "the gradient of silu with respect to its input",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .binary = value_of,
    .expression = "$1 * cse_silu_slope($0)",
};
