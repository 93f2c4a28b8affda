/* pow: the first tensor to the power of the second. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** a to the power of b, as C's pow; floats. The gradient with respect to b is 0 where a is 0, that
 * with respect to a is 0 where b is 0. Broadcasts. */
CSE_API cse_tensor *cse_pow(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_pow, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *a = node->inputs[0], *b = node->inputs[1], *zero = cse_constant_like(a, 0);
    cse_tensor *slope = cse_mul(b, cse_pow(a, cse_shift(b, -1)));
    cse_tensor *growth = cse_mul(node, cse_log(a));
    gradients[0] = cse_mul(output_gradient, cse_where(cse_equal(b, zero), zero, slope));
    gradients[1] = cse_mul(output_gradient, cse_where(cse_equal(a, zero), zero, growth));
}

const cse_op cse_op_pow = {
    CSE_BINARY,
    .name = "pow",
    .summary = "the first tensor to the power of the second",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .binary = pow,
    .expression = "cse_pow($0, $1)",
};
