/* softplus: a smooth relu, ln(1 + exp(x)).
 *
 * Computed as max(x, 0) + ln(1 + exp(-|x|)), which neither overflows nor loses small values. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** ln(1 + exp(x)); its derivative is sigmoid(x). PyTorch's, with beta 1, is x itself above 20,
 * which is the same float32. */
CSE_API cse_tensor *cse_softplus(cse_tensor *x)
{
    return cse_trace_1(&cse_op_softplus, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(output_gradient, cse_sigmoid(node->inputs[0]));
}

static double value_of(double x)
{
    return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

const cse_op cse_op_softplus = {
    CSE_UNARY,
    .name = "softplus",
    .summary = "a smooth relu: the logarithm of one more than e to the power of each element",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .unary = value_of,
    .expression = "($0 < 0.0f ? 0.0f : $0) + cse_log1p(cse_exp(-__builtin_fabsf($0)))",
};
