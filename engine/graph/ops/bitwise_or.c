/* bitwise_or: the bits that are set in either of two integers. */
#include "engine/graph/ops/elementwise.h"

/** a | b, bit by bit; int32. Broadcasts. */
CSE_API cse_tensor *cse_bitwise_or(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_bitwise_or, a, b);
}

static double value_of(double a, double b)
{
    return (int32_t)a | (int32_t)b;
}

static const cse_op_sample samples[] = {
    { .name = "both signs",
      .inputs = { CSE_INTEGERS(-2147483648., 2147483647., 5, 13), CSE_INTEGERS(-100, 100, 5, 13) },
      .input_count = 2 },
    { .name = NULL },
};

const cse_op cse_op_bitwise_or = {
    CSE_BINARY,
    .name = "bitwise_or",
    .summary = "the bits that are set in either of two integers",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_integers,
    .binary = value_of,
    .expression = "$0 | $1",
    .samples = samples,
};
