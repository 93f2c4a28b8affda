/* div: the quotient of two tensors. */
#include "engine/trace/arguments.h"
#include "engine/trace/identities.h"

extern const cse_op cse_op_div;

/** a / b; floats. Broadcasts. */
CSE_API cse_tensor *cse_div(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_div, a, b);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_div(output_gradient, node->inputs[1]);
    gradients[1] = cse_neg(cse_mul(gradients[0], node));
}

static double value_of(double a, double b)
{
    return a / b;
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, NULL);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, 0.5, 2 } },
      .input_count = 2 },
    { .name = NULL },
};

/* x / 1 = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral_right(node, 1);
}

const cse_op cse_op_div = {
    .name = "div",
    .summary = "the quotient of two tensors",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_floats,
    .gradient = gradient,
    .reference = reference,
    .simplify = simplify,
    .expression = "$0 / $1",
    .samples = samples,
};
