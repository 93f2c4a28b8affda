/* bernoulli: ones with a given probability, else zeros.
 *
 * A random op (engine/graph/ops/random_arguments.h). Attributes: numbers[0] the probability of a
 * 1. */
#include "engine/graph/op.h"
#include "engine/graph/ops/random_arguments.h"

static cse_tensor *draw(const cse_tensor *like, cse_shape shape, const char *stream,
                        double probability)
{
    cse_attributes attributes = { .number_count = 1, .numbers = { probability } };
    if (!(probability >= 0 && probability <= 1))
        return cse_trace_fail(CSE_USAGE, "bernoulli: probability %g is outside [0, 1]",
                              probability);
    cse_tensor *samples = cse_random_samples("bernoulli", like, shape, stream, &attributes);
    return cse_trace_is_poison(samples) ? samples
                                        : cse_trace_1(&cse_op_bernoulli, &attributes, samples);
}

/** 1 with `probability`, else 0, drawn once a step: float32 of `shape`. Each element is a pure
 * function of (seed, step, `stream`, element); give each use a stream name of its own. */
CSE_API cse_tensor *cse_bernoulli(cse_shape shape, const char *stream, double probability)
{
    return draw(NULL, shape, stream, probability);
}

/** As cse_bernoulli, of x's shape. Where x depends on the batch its first axis holds the samples,
 * and each sample draws its own numbers by its position in the global batch. */
CSE_API cse_tensor *cse_bernoulli_like(cse_tensor *x, const char *stream, double probability)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_bernoulli, NULL, x);
    return draw(x, cse_scalar_shape, stream, probability);
}

static void reference(const cse_reference *call)
{
    int64_t count = cse_shape_elements(call->node->shape);
    const double *numbers = call->node->attributes.numbers;
    float *y = call->output;
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        cse_reference_draw(call, i, words);
        y[i] = cse_uniform_from_bits(words[0]) < (float)numbers[0] ? 1.0f : 0.0f;
    }
}

const cse_op cse_op_bernoulli = {
    .name = "bernoulli",
    .summary = "ones with a given probability, else zeros",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_random,
    .reference = reference,
    .expression = "cse_draw_uniform(" CSE_DRAW_COUNTER("$0") ") < $f0 ? 1.0f : 0.0f",
};
