/* erf: the error function of each element. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x. */
CSE_API cse_tensor *cse_erf(cse_tensor *x)
{
    return cse_trace_1(&cse_op_erf, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const double two_over_sqrt_pi = 1.1283791670955126;
    cse_tensor *gaussian = cse_exp(cse_neg(cse_square(node->inputs[0])));
    gradients[0] = cse_mul(cse_scale(output_gradient, two_over_sqrt_pi), gaussian);
}

const cse_op cse_op_erf = {
    CSE_UNARY,
    .name = "erf",
    .summary = "the error function of each element",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = erf,
    .expression = "cse_erf($0)",
};
