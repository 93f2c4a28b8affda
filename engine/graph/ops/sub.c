/* sub: the difference of two tensors. */
#include "engine/graph/ops/elementwise.h"
#include "engine/graph/trace/identities.h"

/** a - b. Broadcasts. */
CSE_API cse_tensor *cse_sub(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_sub, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = output_gradient;
    gradients[1] = cse_neg(output_gradient);
}

static double value_of(double a, double b)
{
    return a - b;
}

/* x - 0 = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral_right(node, 0);
}

const cse_op cse_op_sub = {
    CSE_BINARY,
    .name = "sub",
    .summary = "the difference of two tensors",
    .role = CSE_OP_ROLE_SUBTRACT,
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .binary = value_of,
    .simplify = simplify,
    .expression = "$0 - $1",
};
