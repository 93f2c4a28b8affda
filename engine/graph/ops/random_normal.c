/* random_normal: random numbers, normally distributed.
 *
 * A random op (engine/graph/ops/random_arguments.h). Attributes: numbers[0] the mean, numbers[1]
 * the standard deviation. */
#include "engine/graph/op.h"
#include "engine/graph/ops/random_arguments.h"

static cse_tensor *draw(const cse_tensor *like, cse_shape shape, const char *stream, double mean,
                        double deviation)
{
    cse_attributes attributes = { .number_count = 2, .numbers = { mean, deviation } };
    cse_tensor *samples = cse_random_samples("random_normal", like, shape, stream, &attributes);
    return cse_trace_is_poison(samples) ? samples
                                        : cse_trace_1(&cse_op_random_normal, &attributes, samples);
}

/** Normal of the given mean and standard deviation, drawn once a step: float32 of `shape`. Each
 * element is a pure function of (seed, step, `stream`, element); give each use a stream name of its
 * own. */
CSE_API cse_tensor *cse_random_normal(cse_shape shape, const char *stream, double mean,
                                      double deviation)
{
    return draw(NULL, shape, stream, mean, deviation);
}

/** As cse_random_normal, of x's shape. Where x depends on the batch its first axis holds the
 * samples, and each sample draws its own numbers by its position in the global batch. */
CSE_API cse_tensor *cse_random_normal_like(cse_tensor *x, const char *stream, double mean,
                                           double deviation)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_random_normal, NULL, x);
    return draw(x, cse_scalar_shape, stream, mean, deviation);
}

static void reference(const cse_reference *call)
{
    int64_t count = cse_shape_elements(call->node->shape);
    const double *numbers = call->node->attributes.numbers;
    float *y = call->output;
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        cse_reference_draw(call, i, words);
        y[i] = (float)(numbers[0] + numbers[1] * cse_normal_from_bits(words[0], words[1]));
    }
}

const cse_op cse_op_random_normal = {
    .name = "random_normal",
    .summary = "random numbers, normally distributed",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_random,
    .reference = reference,
    .expression = "$f0 + $f1 * cse_draw_normal(" CSE_DRAW_COUNTER("$0") ")",
};
