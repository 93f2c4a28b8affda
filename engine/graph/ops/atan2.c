/* atan2: the angle of each point (x, y). */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** The angle of the point (x, y) from the x axis, in (-pi, pi]; floats. Broadcasts. At (0, 0) the
 * gradient is NaN. */
CSE_API cse_tensor *cse_atan2(cse_tensor *y, cse_tensor *x)
{
    return cse_elementwise_2(&cse_op_atan2, y, x);
}

/* d/dy = x / (x^2 + y^2), d/dx = -y / (x^2 + y^2). */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *y = node->inputs[0], *x = node->inputs[1];
    cse_tensor *share = cse_div(output_gradient, cse_add(cse_square(x), cse_square(y)));
    gradients[0] = cse_mul(share, x);
    gradients[1] = cse_neg(cse_mul(share, y));
}

const cse_op cse_op_atan2 = {
    CSE_BINARY,
    .name = "atan2",
    .summary = "the angle of each point (x, y)",
    .precision = CSE_FAMILY_SENSITIVE,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .binary = atan2,
    .expression = "cse_atan2($0, $1)",
};
