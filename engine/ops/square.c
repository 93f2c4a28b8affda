/* square: the square of each element. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_square;

/** x * x. */
CSE_API cse_tensor *cse_square(cse_tensor *x)
{
    return cse_trace_1(&cse_op_square, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_mul(cse_scale(output_gradient, 2), node->inputs[0]);
}

static double value_of(double x)
{
    return x * x;
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 1 },
    { .name = NULL },
};

const cse_op cse_op_square = {
    .name = "square",
    .summary = "the square of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 * $0",
    .samples = samples,
};
