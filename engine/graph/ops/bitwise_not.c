/* bitwise_not: each bit of an integer inverted. */
#include "engine/graph/ops/elementwise.h"

/** ~x, each bit inverted; int32. */
CSE_API cse_tensor *cse_bitwise_not(cse_tensor *x)
{
    return cse_trace_1(&cse_op_bitwise_not, NULL, x);
}

static double value_of(double x)
{
    return ~(int32_t)x;
}

const cse_op cse_op_bitwise_not = {
    CSE_UNARY,
    .name = "bitwise_not",
    .summary = "each bit of an integer inverted",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_integers,
    .unary = value_of,
    .expression = "~$0",
};
