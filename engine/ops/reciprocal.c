/* reciprocal: one divided by each element. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_reciprocal;

/** 1 / x. */
CSE_API cse_tensor *cse_reciprocal(cse_tensor *x)
{
    return cse_trace_1(&cse_op_reciprocal, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_neg(cse_mul(output_gradient, cse_square(node)));
}

static double value_of(double x)
{
    return 1 / x;
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, 0.25, 4 } },
      .input_count = 1 },
    { .name = NULL },
};

const cse_op cse_op_reciprocal = {
    .name = "reciprocal",
    .summary = "one divided by each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "1.0f / $0",
    .samples = samples,
};
