/* stochastic_round: float32 values rounded to those of a 16-bit format, up or down at random, so
 * that the expected result is the value itself.
 *
 * The result stays float32 for later ops. Inputs: x, and both halves of a key (random_key)
 * broadcast to x's shape; an element's random bits are a pure function of the key and its index.
 * Attributes: integers[0] explicit mantissa bits, integers[1] the exponent bias. */
#include "engine/base/random.h"
#include "engine/base/types/narrow.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** x (float32, independent of the batch) with each element rounded to a neighbour in `format`
 * (bfloat16, float16, cbfloat16), up with the probability that makes the expected result x. The
 * random bits are a pure function of (seed, step, `stream`, element); give each use a stream name
 * of its own. Values that the format holds stay unchanged. The gradient is that of a cast. */
CSE_API cse_tensor *cse_stochastic_round(cse_tensor *x, cse_dtype format, const char *stream)
{
    cse_attributes attributes = { .integer_count = 2 };
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_stochastic_round, NULL, x);
    if (x->batch)
        return cse_trace_fail(CSE_SHAPE, "stochastic_round: x depends on the microbatch; sum it "
                                         "over the batch first (cse_batch_sum, cse_batch_mean)");
    if (format != CSE_BFLOAT16 && format != CSE_FLOAT16 && format != CSE_CBFLOAT16)
        return cse_trace_fail(CSE_USAGE,
                              "stochastic_round: %s is no 16-bit format; accepted: bfloat16, "
                              "float16, cbfloat16",
                              cse_dtype_name(format));
    attributes.integers[0] = format == CSE_BFLOAT16 ? 7 : format == CSE_FLOAT16 ? 10 : 9;
    attributes.integers[1] = format == CSE_BFLOAT16 ? 127 : format == CSE_FLOAT16 ? 15 : 31;
    cse_tensor *inputs[3] = { x };
    for (int half = 0; half < 2; half++)
        inputs[half + 1] = cse_broadcast_to(cse_random_key(stream, half), x->shape);
    return cse_trace(&cse_op_stochastic_round, &attributes, 3, inputs);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int64_t mantissa = in->attributes->integers[0], bias = in->attributes->integers[1];
    if (in->dtypes[0] != CSE_FLOAT32 || in->dtypes[1] != CSE_INT32 || in->dtypes[2] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "x must be float32 and the key's halves int32");
    if (!cse_shape_equal(in->shapes[0], in->shapes[1]) ||
        !cse_shape_equal(in->shapes[0], in->shapes[2]))
        return cse_fail(CSE_SHAPE, "x and the key's halves must have one shape");
    if (!(mantissa == 7 && bias == 127) && !(mantissa == 10 && bias == 15) &&
        !(mantissa == 9 && bias == 31))
        return cse_fail(CSE_SHAPE, "%lld mantissa bits with bias %lld is not a known format",
                        (long long)mantissa, (long long)bias);
    *shape = in->shapes[0];
    *dtype = CSE_FLOAT32;
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = output_gradient;
}

static void reference(const cse_reference *call)
{
    const int64_t *integers = call->node->attributes.integers;
    const float *x = call->inputs[0];
    const int32_t *low = call->inputs[1], *high = call->inputs[2];
    float *y = call->output;
    for (int64_t i = 0; i < cse_shape_elements(call->node->shape); i++) {
        uint32_t random =
            cse_hash_bits(cse_key_of(low[i], high[i]), (uint32_t)(call->first_element + i));
        y[i] = cse_round_format_stochastic(x[i], random, (int)integers[0], (int)integers[1]);
    }
}

const cse_op cse_op_stochastic_round = {
    .name = "stochastic_round",
    .summary = "a 16-bit format's values in place of float32 ones, up or down at random",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_CAST,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_round_format_stochastic($0, cse_hash_bits(cse_key_of($1, $2), "
                  "(uint32_t)$n), $a0, $a1)",
};
