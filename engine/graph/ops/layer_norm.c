/* layer_norm: each row with mean 0 and variance 1, then a weight and a bias for each channel (Ba,
 * Kiros, Hinton 2016).
 *
 * Inputs: x [..., channel], weight [channel], bias [channel]. Works on the last axis; the variance
 * is the mean of squares about the mean. Attributes: numbers[0] is epsilon, added to the variance.
 */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/rows.h"

/** (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis: x [..., channel],
 * weight and bias [channel] (NULL: all 1, all 0). PyTorch's epsilon is 1e-5. */
CSE_API cse_tensor *cse_layer_norm(cse_tensor *x, cse_tensor *weight, cse_tensor *bias,
                                   double epsilon)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { epsilon } };
    if (!cse_trace_is_poison(x)) {
        cse_shape row = cse_shape_of(cse_row_length(x->shape));
        if (weight == NULL)
            weight = cse_broadcast_to(cse_constant_like(x, 1), row);
        if (bias == NULL)
            bias = cse_broadcast_to(cse_constant_like(x, 0), row);
    }
    return cse_trace(&cse_op_layer_norm, &attributes, 3, (cse_tensor *[]){ x, weight, bias });
}

/* x [batch, channel, ...] with each channel's elements times its weight, plus its bias. */
static cse_tensor *affine(cse_tensor *x, cse_tensor *weight, cse_tensor *bias)
{
    cse_shape column = { .rank = x->shape.rank - 1, .dims = { x->shape.dims[1] } };
    for (int i = 1; i < column.rank; i++)
        column.dims[i] = 1;
    if (weight != NULL)
        x = cse_mul(x, cse_reshape(weight, column));
    return bias != NULL ? cse_add(x, cse_reshape(bias, column)) : x;
}

/** x [batch, channel, ...] normalized over each group of channel / groups channels of each sample,
 * then times weight plus bias [channel] (NULL: none), as PyTorch's group_norm (Wu, He 2018). With
 * as many groups as channels it is an instance norm. */
CSE_API cse_tensor *cse_group_norm(cse_tensor *x, int64_t groups, cse_tensor *weight,
                                   cse_tensor *bias, double epsilon)
{
    if (cse_trace_is_poison(x))
        return cse_layer_norm(x, weight, bias, epsilon);
    const cse_shape shape = x->shape;
    if (shape.rank < 2 || groups < 1 || shape.dims[1] % groups != 0)
        return cse_trace_fail(CSE_SHAPE,
                              "group_norm: %lld groups; accepted: a divisor of the channels of x "
                              "[batch, channel, ...]",
                              (long long)groups);
    cse_tensor *rows = cse_reshape(x, cse_shape_of(shape.dims[0] * groups, -1));
    rows = cse_reshape(cse_layer_norm(rows, NULL, NULL, epsilon), shape);
    return cse_trace_is_poison(rows) ? rows : affine(rows, weight, bias);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_rows(in, shape, dtype));
    cse_shape row = cse_shape_of(cse_row_length(*shape));
    for (int i = 1; i < 3; i++)
        if (!cse_shape_equal(in->shapes[i], row) || in->dtypes[i] != *dtype)
            return cse_fail(CSE_SHAPE,
                            "weight and bias must be %s [%lld], the size of the last "
                            "axis",
                            cse_dtype_name(*dtype), (long long)row.dims[0]);
    return CSE_OK;
}

static cse_tensor *row_mean(cse_tensor *x)
{
    return cse_scale(cse_row_sum(x), 1.0 / (double)cse_row_length(cse_tensor_shape(x)));
}

/* (x - mean) / deviation, and 1 / deviation as a column. */
static cse_tensor *normalized(cse_tensor *node, cse_tensor **inverse_deviation)
{
    cse_tensor *x = node->inputs[0];
    cse_tensor *centered = cse_sub(x, row_mean(x));
    cse_tensor *variance = row_mean(cse_square(centered));
    *inverse_deviation = cse_rsqrt(cse_shift(variance, node->attributes.numbers[0]));
    return cse_mul(centered, *inverse_deviation);
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *inverse_deviation, *unit = normalized(node, &inverse_deviation);
    return cse_add(cse_mul(unit, node->inputs[1]), node->inputs[2]);
}

/* With u the normalized row and g = dy * weight:
 *
 *   dx = (g - mean(g) - u * mean(g * u)) / deviation
 *   dweight = sum(dy * u)
 *   dbias = sum(dy)
 */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axes[CSE_MAX_RANK], count = node->shape.rank - 1;
    for (int i = 0; i < count; i++)
        axes[i] = i;
    cse_tensor *inverse_deviation, *unit = normalized(node, &inverse_deviation);
    cse_tensor *g = cse_mul(output_gradient, node->inputs[1]);
    cse_tensor *along = cse_mul(unit, row_mean(cse_mul(g, unit)));
    cse_tensor *off = cse_sub(cse_sub(g, row_mean(g)), along);
    cse_tensor *by_weight = cse_mul(output_gradient, unit);
    gradients[0] = cse_mul(off, inverse_deviation);
    gradients[1] = count ? cse_sum(by_weight, axes, count, false) : by_weight;
    gradients[2] = count ? cse_sum(output_gradient, axes, count, false) : output_gradient;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t rows = cse_row_count(node->shape), length = cse_row_length(node->shape);
    cse_dtype dtype = node->dtype;
    for (int64_t row = 0; row < rows; row++) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < length; i++)
            mean += cse_read_element(dtype, call->inputs[0], row * length + i);
        mean /= (double)length;
        for (int64_t i = 0; i < length; i++) {
            double off = cse_read_element(dtype, call->inputs[0], row * length + i) - mean;
            variance += off * off;
        }
        double deviation = sqrt(variance / (double)length + node->attributes.numbers[0]);
        for (int64_t i = 0; i < length; i++) {
            double x = cse_read_element(dtype, call->inputs[0], row * length + i);
            double weight = cse_read_element(dtype, call->inputs[1], i);
            double bias = cse_read_element(dtype, call->inputs[2], i);
            cse_write_element(dtype, call->output, row * length + i,
                              (x - mean) / deviation * weight + bias);
        }
    }
}

const cse_op cse_op_layer_norm = {
    .name = "layer_norm",
    .summary = "each row normalized, with a weight and a bias for each channel",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_NORM,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expand = expand,
};
