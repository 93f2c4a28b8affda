/* greater: whether an element of the first tensor is greater than the second's. */
#include "engine/trace/arguments.h"

extern const cse_op cse_op_greater;

/** Whether a is greater than b; a bool. Broadcasts. */
CSE_API cse_tensor *cse_greater(cse_tensor *a, cse_tensor *b)
{
    return cse_trace_broadcast_2(&cse_op_greater, a, b);
}

static double value_of(double a, double b)
{
    return a > b;
}

static void reference(const cse_reference *call)
{
    cse_reference_binary(call, value_of, NULL);
}

static const cse_op_sample samples[] = {
    { .name = "a row of 67",
      .inputs = { { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 },
                  { { 2, { 3, 67 } }, CSE_FLOAT32, -2, 2 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = "int32",
      .inputs = { { { 2, { 5, 3 } }, CSE_INT32, -4, 5 }, { { 2, { 5, 3 } }, CSE_INT32, -4, 5 } },
      .input_count = 2,
      .skip_gradient = true },
    { .name = NULL },
};

const cse_op cse_op_greater = {
    .name = "greater",
    .summary = "whether an element of the first tensor is greater than the second's",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_comparison,
    .reference = reference,
    .expression = "$0 > $1",
    .samples = samples,
};
