/* add: the sum of two tensors. */
#include "engine/graph/ops/elementwise.h"
#include "engine/graph/trace/identities.h"

/** a + b. Broadcasts. */
CSE_API cse_tensor *cse_add(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_add, a, b);
}

/** x + term, a plain number rounded to x's type. */
CSE_API cse_tensor *cse_shift(cse_tensor *x, double term)
{
    return cse_add(x, cse_constant_like(x, term));
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = gradients[1] = output_gradient;
}

static double value_of(double a, double b)
{
    return a + b;
}

/* x + 0 is x. Only -0 + 0 differs: it is +0, which only a later division can tell apart. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral(node, 0);
}

const cse_op cse_op_add = {
    CSE_BINARY,
    .name = "add",
    .summary = "the sum of two tensors",
    .role = CSE_OP_ROLE_ADD,
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .binary = value_of,
    .simplify = simplify,
    .expression = "$0 + $1",
};
