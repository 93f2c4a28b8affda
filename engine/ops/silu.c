/* silu: each element times its logistic function. */
#include <math.h>

#include "engine/trace/arguments.h"

extern const cse_op cse_op_silu;

/** x * sigmoid(x) (Elfwing, Uchibe, Doya 2018). */
CSE_API cse_tensor *cse_silu(cse_tensor *x)
{
    return cse_trace_1(&cse_op_silu, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *one = cse_constant_like(x, 1), *s = cse_sigmoid(x);
    cse_tensor *slope = cse_mul(s, cse_add(one, cse_mul(x, cse_sub(one, s))));
    gradients[0] = cse_mul(output_gradient, slope);
}

static double value_of(double x)
{
    return x / (1 + exp(-x));
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

const cse_op cse_op_silu = {
    .name = "silu",
    .summary = "each element times its logistic function",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 / (1.0f + cse_exp(-$0))",
    .samples = samples,
};
