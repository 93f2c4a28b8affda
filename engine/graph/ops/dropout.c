/* dropout: elements set to 0 at random, the others scaled up (Srivastava et al. 2014).
 *
 * A random op (engine/graph/ops/random_arguments.h) of x and the samples: forward and backward pass
 * each draw the same mask, which is never stored. Attributes: numbers[0] the probability of a 0,
 * numbers[1] the factor 1 / (1 - probability) of the other elements. */
#include "engine/graph/op.h"
#include "engine/graph/ops/random_arguments.h"

/** x with each element set to 0 with `probability`, in [0, 1), and the others divided by 1 -
 * probability. For training only: leave it out of evaluation. Each element is a pure function of
 * (seed, step, `stream`, sample, element); give each layer a stream name of its own. */
CSE_API cse_tensor *cse_dropout(cse_tensor *x, double probability, const char *stream)
{
    cse_attributes attributes = { .number_count = 2,
                                  .numbers = { probability, 1 / (1 - probability) } };
    if (cse_trace_is_poison(x))
        return cse_trace_2(&cse_op_dropout, NULL, x, x);
    if (!(probability >= 0 && probability < 1))
        return cse_trace_fail(CSE_USAGE, "dropout: probability %g is outside [0, 1)", probability);
    if (probability == 0)
        return x;
    cse_tensor *samples = cse_random_samples("dropout", x, x->shape, stream, &attributes);
    return cse_trace_is_poison(samples) ? samples
                                        : cse_trace_2(&cse_op_dropout, &attributes, x, samples);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_infer samples = { in->attributes, 1, in->shapes + 1, in->dtypes + 1 };
    if (!cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the input must be floats, not %s; cast it first",
                        cse_dtype_name(in->dtypes[0]));
    CSE_TRY(cse_infer_random(&samples, shape, dtype));
    if (!cse_shape_equal(in->shapes[0], *shape))
        return cse_fail(CSE_SHAPE, "the samples must have the input's shape");
    *dtype = in->dtypes[0];
    return CSE_OK;
}

/* The same mask and factor, applied to the gradient. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] =
        cse_trace_2(&cse_op_dropout, &node->attributes, output_gradient, node->inputs[1]);
}

static void reference(const cse_reference *call)
{
    int64_t count = cse_shape_elements(call->node->shape);
    const double *numbers = call->node->attributes.numbers;
    cse_dtype dtype = call->node->dtype;
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        cse_reference_draw(call, i, words);
        float x = (float)cse_read_element(dtype, call->inputs[0], i) * (float)numbers[1];
        bool dropped = cse_uniform_from_bits(words[0]) < (float)numbers[0];
        cse_write_element(dtype, call->output, i, dropped ? 0 : x);
    }
}

const cse_op cse_op_dropout = {
    .name = "dropout",
    .summary = "elements set to 0 at random, the others scaled up",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expression = "cse_draw_uniform(" CSE_DRAW_COUNTER("$1") ") < $f0 ? 0.0f : $0 * $f1",
};
