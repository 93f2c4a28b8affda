/* bitwise_xor: the bits that are set in one of the two of two integers. */
#include "engine/graph/ops/elementwise.h"

/** a ^ b, bit by bit; int32. Broadcasts. */
CSE_API cse_tensor *cse_bitwise_xor(cse_tensor *a, cse_tensor *b)
{
    return cse_elementwise_2(&cse_op_bitwise_xor, a, b);
}

static double value_of(double a, double b)
{
    return (int32_t)a ^ (int32_t)b;
}

const cse_op cse_op_bitwise_xor = {
    CSE_BINARY,
    .name = "bitwise_xor",
    .summary = "the bits that are set in one of the two of two integers",
    .precision = CSE_FAMILY_NEUTRAL,
    .infer = cse_infer_integers,
    .binary = value_of,
    .expression = "$0 ^ $1",
};
