/* remainder: what is left of a division of integers that is rounded down. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** a - b * floor(a / b), which has the sign of b, as in Python and in PyTorch; int32. The remainder
 * by 0 is a. Broadcasts. */
CSE_API cse_tensor *cse_remainder(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_remainder, a, b);
}

static double value_of(double a, double b)
{
    return b != 0 ? a - b * floor(a / b) : a;
}

const cse_op cse_op_remainder = {
    CSE_BINARY,
    .name = "remainder",
    .summary = "what is left of a division of integers that is rounded down",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_integers,
    .binary = value_of,
    .expression = "cse_remainder($0, $1)",
};
