/* tanh: the hyperbolic tangent of each element. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_tanh;

/** The hyperbolic tangent of x. */
CSE_API cse_tensor *cse_tanh(cse_tensor *x)
{
    return cse_trace_1(&cse_op_tanh, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* 1 - y^2: from the output, so that x need not be kept. */
    cse_tensor *slope = cse_sub(cse_constant_like(node, 1), cse_square(node));
    gradients[0] = cse_mul(output_gradient, slope);
}

static double value_of(double x)
{
    return tanh(x);
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

/* The generated code's own function differs from libm's by a few units in the last place. */
static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 1,
      .tolerance = 1e-6 },
    { .name = NULL },
};

const cse_op cse_op_tanh = {
    .name = "tanh",
    .summary = "the hyperbolic tangent of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_tanh($0)",
    .samples = samples,
};
