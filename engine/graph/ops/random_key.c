/* random_key: one 32-bit half of the key of a random stream at a step.
 *
 * Deriving the key is the costly part of the generator; drawing from it costs a short hash for each
 * element. As a node of its own the key is derived once a step. Attributes: integers[0] the stream
 * (32 bits of the hash of its name), integers[1] the half, 0 or 1. */
#include "engine/base/random.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** One half (0: low, 1: high) of the 64-bit key of `stream` at this step, as an int32 scalar: a
 * pure function of (seed, step, the stream's name). cse_stochastic_round draws from it. */
CSE_API cse_tensor *cse_random_key(const char *stream, int half)
{
    if (stream == NULL || stream[0] == '\0' || half < 0 || half > 1)
        return cse_trace_fail(CSE_USAGE, "random_key: give the stream a name, and half 0 or 1");
    const cse_attributes attributes = { .integer_count = 2,
                                        .integers = { (uint32_t)cse_hash_string(stream), half } };
    return cse_trace_1(&cse_op_random_key, &attributes, cse_step_number());
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "the step's number must be int32, not %s",
                        cse_dtype_name(in->dtypes[0]));
    *shape = in->shapes[0];
    *dtype = CSE_INT32;
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    const int64_t *integers = call->node->attributes.integers;
    const int32_t *steps = call->inputs[0];
    int32_t *y = call->output;
    for (int64_t i = 0; i < cse_shape_elements(call->node->shape); i++)
        y[i] = cse_key_half(cse_hash_key(call->seed, steps[i], (uint32_t)integers[0], 0, 0),
                            (int)integers[1]);
}

const cse_op cse_op_random_key = {
    .name = "random_key",
    .summary = "half of the key that a stream's numbers are drawn from in a step",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .expression = "cse_key_half(cse_hash_key($seed, $0, CSE_STREAM($a0), 0, 0), $a1)",
};
