/* neg: the negative of each element. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_neg;

/** -x; floats or int32. */
CSE_API cse_tensor *cse_neg(cse_tensor *x)
{
    return cse_trace_1(&cse_op_neg, NULL, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_neg(output_gradient);
}

static double value_of(double x)
{
    return -x;
}

static void reference(const cse_reference *call)
{
    cse_reference_unary(call, value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 1 },
    { .name = "int32",
      .inputs = { { { 2, { 5, 3 } }, CSE_INT32, -4, 5 } },
      .input_count = 1,
      .skip_gradient = true },
    { .name = NULL },
};

/* -(-x) = x. */
static cse_tensor *simplify(cse_tensor *node)
{
    return node->inputs[0]->op == node->op ? node->inputs[0]->inputs[0] : NULL;
}

const cse_op cse_op_neg = {
    .name = "neg",
    .summary = "the negative of each element",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .reference = reference,
    .simplify = simplify,
    .expression = "-$0",
    .samples = samples,
};
