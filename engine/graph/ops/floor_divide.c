/* floor_divide: the quotient of integers, rounded down. */
#include <math.h>

#include "engine/graph/ops/elementwise.h"

/** a / b rounded down, as in Python and in PyTorch's floor_divide; int32. Division by 0 gives 0,
 * and the quotient of INT32_MIN and -1 wraps. Broadcasts. */
CSE_API cse_tensor *cse_floor_divide(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_floor_divide, a, b);
}

static double value_of(double a, double b)
{
    return b != 0 ? floor(a / b) : 0;
}

const cse_op cse_op_floor_divide = {
    CSE_BINARY,
    .name = "floor_divide",
    .summary = "the quotient of integers, rounded down",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_integers,
    .binary = value_of,
    .expression = "cse_floor_divide($0, $1)",
};
