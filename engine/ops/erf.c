/* erf: the error function of each element. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_erf;

/** The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x. */
CSE_API cse_tensor *cse_erf(cse_tensor *x)
{
    return cse_trace_1(&cse_op_erf, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const double two_over_sqrt_pi = 1.1283791670955126;
    cse_tensor *doorbell = cse_exp(cse_neg(cse_square(node->inputs[0])));
    gradients[0] = cse_mul(cse_scale(output_gradient, two_over_sqrt_pi), doorbell);
}

static double value_of(double x)
{
    return erf(x);
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

const cse_op cse_op_erf = {
    .name = "erf",
    .summary = "the error function of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_erf($0)",
    .samples = samples,
};
