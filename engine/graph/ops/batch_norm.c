/* batch_norm: each channel with mean 0 and variance 1 over the samples, then a weight and a bias
 * for each channel (Ioffe, Szegedy 2015).
 *
 * Inputs: x [batch, channel, ...], weight [channel], bias [channel]. The statistics are those of x,
 * thus of a microbatch; the variance is the mean of squares about the mean. Attributes: numbers[0]
 * is epsilon, added to the variance. */
#include <math.h>

#include "engine/graph/ops/along.h"

/** (x - mean) / sqrt(variance + epsilon) * weight + bias for each channel of x [batch, channel,
 * ...], with mean and variance over all else; weight and bias [channel] (NULL: all 1, all 0).
 * PyTorch's epsilon is 1e-5. As on each device of PyTorch, the statistics are those of the
 * microbatch. csengine/model.h has the layer with running statistics. */
CSE_API cse_tensor *cse_batch_norm(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                                   double epsilon)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { epsilon } };
    if (!cse_trace_is_poison(x)) {
        /* An x that has no channels is told by the shape rule. */
        cse_shape channels = cse_shape_of(x->shape.rank >= 2 ? x->shape.dims[1] : 1);
        if (weight == NULL)
            weight = cse_broadcast_to(cse_constant_like(x, 1), channels);
        if (bias == NULL)
            bias = cse_broadcast_to(cse_constant_like(x, 0), channels);
    }
    return cse_trace(&cse_op_batch_norm, &attributes, 3, (cse_tensor *[]){ x, weight, bias });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    if (!cse_dtype_is_float(*dtype) || shape->rank < 2 || cse_shape_elements(*shape) < 1)
        return cse_fail(CSE_SHAPE, "the input must be floats [batch, channel, ...], not empty");
    for (int i = 1; i < 3; i++)
        if (in->shapes[i].rank != 1 || in->shapes[i].dims[0] != shape->dims[1] ||
            in->dtypes[i] != *dtype)
            return cse_fail(CSE_SHAPE, "weight and bias must be %s [%lld], one for each channel",
                            cse_dtype_name(*dtype), (long long)shape->dims[1]);
    return CSE_OK;
}

/* Values of the channels, as they broadcast to x. */
static cse_tensor *spread(cse_tensor *values, const cse_tensor *x)
{
    cse_shape shape = { .rank = x->shape.rank - 1, .dims = { x->shape.dims[1] } };
    for (int i = 1; i < shape.rank; i++)
        shape.dims[i] = 1;
    return cse_reshape(values, shape);
}

/* The sum over all but the channels. */
static cse_tensor *channel_sum(cse_tensor *x)
{
    int axes[CSE_MAX_RANK] = { 0 }, count = 1;
    for (int i = 2; i < x->shape.rank; i++)
        axes[count++] = i;
    return cse_sum(x, axes, count, false);
}

static double inverse_count(const cse_tensor *x)
{
    return (double)x->shape.dims[1] / (double)cse_shape_elements(x->shape);
}

static cse_tensor *centered(cse_tensor *x)
{
    return cse_sub(x, spread(cse_scale(channel_sum(x), inverse_count(x)), x));
}

/* 1 / deviation [channel] of what is centered. */
static cse_tensor *inverse_deviation(cse_tensor *off, double epsilon)
{
    cse_tensor *variance = cse_scale(channel_sum(cse_square(off)), inverse_count(off));
    return cse_rsqrt(cse_shift(variance, epsilon));
}

/** What cse_batch_norm takes x [batch, channel, ...] to have, for running statistics: float32
 * [channel], statistics[0] the mean and statistics[1] the variance with the divisor n - 1 of an
 * estimate (n the elements of a channel; with n = 1 they are divided by 1). */
CSE_API void cse_batch_statistics(cse_tensor *x, cse_tensor *statistics[2])
{
    cse_tensor *values = cse_cast(x, CSE_FLOAT32);
    statistics[0] = statistics[1] = values;
    if (cse_trace_is_poison(values))
        return;
    if (values->shape.rank < 2) {
        statistics[0] = statistics[1] =
            cse_trace_fail(CSE_SHAPE, "batch_statistics: the input must be [batch, channel, ...]");
        return;
    }
    const double count = 1 / inverse_count(values);
    statistics[0] = cse_scale(channel_sum(values), 1 / count);
    statistics[1] =
        cse_scale(channel_sum(cse_square(centered(values))), 1 / (count > 1 ? count - 1 : 1));
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *x = node->inputs[0], *off = centered(x);
    cse_tensor *inverse = inverse_deviation(off, node->attributes.numbers[0]);
    cse_tensor *unit = cse_mul(off, spread(inverse, x));
    return cse_add(cse_mul(unit, spread(node->inputs[1], x)), spread(node->inputs[2], x));
}

/* With u the normalized input and n the elements of a channel:
 *
 *   dbias = sum(dy)
 *   dweight = sum(dy * u)
 *   dx = (dy - dbias / n - u * dweight / n) * weight / deviation */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *off = centered(x);
    cse_tensor *inverse = inverse_deviation(off, node->attributes.numbers[0]);
    cse_tensor *unit = cse_mul(off, spread(inverse, x));
    const double share = inverse_count(x);
    gradients[1] = channel_sum(cse_mul(output_gradient, unit));
    gradients[2] = channel_sum(output_gradient);
    cse_tensor *along = cse_mul(unit, spread(cse_scale(gradients[1], share), x));
    cse_tensor *rest = cse_sub(output_gradient, spread(cse_scale(gradients[2], share), x));
    gradients[0] = cse_mul(cse_sub(rest, along), spread(cse_mul(inverse, node->inputs[1]), x));
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    const cse_along a = cse_along_axis(node->shape, 1);
    const int64_t count = a.before * a.after;
    for (int64_t c = 0; c < a.length; c++) {
        double mean = 0, variance = 0;
        for (int64_t e = 0; e < count; e++)
            mean += cse_read_element(node->dtype, call->inputs[0],
                                     (e / a.after * a.length + c) * a.after + e % a.after);
        mean /= (double)count;
        for (int64_t e = 0; e < count; e++) {
            double off = cse_read_element(node->dtype, call->inputs[0],
                                          (e / a.after * a.length + c) * a.after + e % a.after) -
                         mean;
            variance += off * off;
        }
        double factor = cse_read_element(node->dtype, call->inputs[1], c) /
                        sqrt(variance / (double)count + node->attributes.numbers[0]);
        for (int64_t e = 0; e < count; e++) {
            int64_t at = (e / a.after * a.length + c) * a.after + e % a.after;
            double x = cse_read_element(node->dtype, call->inputs[0], at);
            cse_write_element(node->dtype, call->output, at,
                              (x - mean) * factor +
                                  cse_read_element(node->dtype, call->inputs[2], c));
        }
    }
}

static int64_t summed_terms(const cse_tensor *node)
{
    return cse_shape_elements(node->shape) / node->shape.dims[1];
}

const cse_op cse_op_batch_norm = {
    .name = "batch_norm",
    .summary = "each channel normalized over the microbatch, with a weight and a bias for each",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_NORM,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .summed_terms = summed_terms,
    .expand = expand,
};
