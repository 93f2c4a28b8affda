/* div: the quotient of two tensors. */
#include "engine/graph/ops/elementwise.h"
#include "engine/graph/trace/identities.h"

/** a / b; floats. Broadcasts. */
CSE_API cse_tensor *cse_div(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_div, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(output_gradient, node->inputs[1]);
    gradients[1] = cse_neg(cse_mul(gradients[0], node));
}

static double value_of(double a, double b)
{
    return a / b;
}

/* x / 1 = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral_right(node, 1);
}

const cse_op cse_op_div = {
    CSE_BINARY,
    .name = "div",
    .summary = "the quotient of two tensors",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .binary = value_of,
    .simplify = simplify,
    .expression = "$0 / $1",
};
