/* cos: the cosine of each element (radians). */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_cos;

/** The cosine of x radians. */
CSE_API cse_tensor *cse_cos(cse_tensor *x)
{
    return cse_trace_1(&cse_op_cos, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_neg(cse_mul(output_gradient, cse_sin(node->inputs[0])));
}

static double value_of(double x)
{
    return cos(x);
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

const cse_op cse_op_cos = {
    .name = "cos",
    .summary = "the cosine of each element (radians)",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_cos($0)",
    .samples = samples,
};
