/* random_uniform: random numbers, uniform in an interval.
 *
 * A random op (engine/graph/ops/random_arguments.h). Attributes: numbers[0] the low end, numbers[1]
 * the width. */
#include "engine/graph/op.h"
#include "engine/graph/ops/random_arguments.h"

static cse_tensor *draw(const cse_tensor *like, cse_shape shape, const char *stream, double low,
                        double high)
{
    cse_attributes attributes = { .number_count = 2, .numbers = { low, high - low } };
    cse_tensor *samples = cse_random_samples("random_uniform", like, shape, stream, &attributes);
    return cse_trace_is_poison(samples) ? samples
                                        : cse_trace_1(&cse_op_random_uniform, &attributes, samples);
}

/** Uniform in [low, high), drawn once a step: float32 of `shape`. Each element is a pure
 * function of (seed, step, `stream`, element); give each use a stream name of its own. */
CSE_API cse_tensor *cse_random_uniform(cse_shape shape, const char *stream, double low, double high)
{
    return draw(NULL, shape, stream, low, high);
}

/** As cse_random_uniform, of x's shape. Where x depends on the batch its first axis holds the
 * samples, and each sample draws its own numbers by its position in the global batch. */
CSE_API cse_tensor *cse_random_uniform_like(cse_tensor *x, const char *stream, double low,
                                            double high)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_random_uniform, NULL, x);
    return draw(x, cse_scalar_shape, stream, low, high);
}

static void reference(const cse_reference *call)
{
    int64_t count = cse_shape_elements(call->node->shape);
    const double *numbers = call->node->attributes.numbers;
    float *y = call->output;
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        cse_reference_draw(call, i, words);
        y[i] = (float)numbers[0] + (float)numbers[1] * cse_uniform_from_bits(words[0]);
    }
}

const cse_op cse_op_random_uniform = {
    .name = "random_uniform",
    .summary = "random numbers, uniform in an interval",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_random,
    .reference = reference,
    .expression = "$f0 + $f1 * cse_draw_uniform(" CSE_DRAW_COUNTER("$0") ")",
};
