/* add: the sum of two tensors. */
#include "engine/trace/arguments.h"
#include "engine/trace/identities.h"

extern const cse_op cse_op_add;

/** a + b. Broadcasts. */
CSE_API cse_tensor *cse_add(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_add, a, b);
}

/** x + term, a plain number rounded to x's type. */
CSE_API cse_tensor *cse_shift(cse_tensor *x, double term)
{
    return cse_add(x, cse_constant_like(x, term));
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = gradients[1] = output_gradient;
}

static double value_of(double a, double b)
{
    return a + b;
}

static int64_t integer_value_of(int64_t a, int64_t b)
{
    return a + b;
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, integer_value_of);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 2 },
    { .name = "int32",
      .inputs = { { { 2, { 5, 3 } }, CSE_INT32, -4, 5 }, { { 2, { 5, 3 } }, CSE_INT32, -4, 5 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

/* x + 0 = x but for the sign of a zero, which no later op but a division sees. */
static cse_tensor *simplify(cse_tensor *node)
{
    return cse_drop_neutral(node, 0);
}

const cse_op cse_op_add = {
    .name = "add",
    .summary = "the sum of two tensors",
    .kind = CSE_OP_ELEMENTWISE,
    .role = CSE_ROLE_ADD,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_numbers,
    .gradient = gradient,
    .reference = reference,
    .simplify = simplify,
    .expression = "$0 + $1",
    .samples = samples,
};
