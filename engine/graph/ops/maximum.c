/* maximum: the larger of two tensors' elements. */
#include "engine/graph/ops/elementwise.h"

/** The larger of a and b; NaN where either is NaN. Where a equals b each gets half of the gradient.
 * Broadcasts. */
CSE_API cse_tensor *cse_maximum(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_maximum, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_extremum_gradient(node, output_gradient, gradients, cse_greater);
}

static double value_of(double a, double b)
{
    return a > b || a != a ? a : b;
}

const cse_op cse_op_maximum = {
    CSE_BINARY,
    .name = "maximum",
    .summary = "the larger of two tensors' elements",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .binary = value_of,
    .expression = "$0 > $1 || $0 != $0 ? $0 : $1",
};
