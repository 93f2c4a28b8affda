/* rms_norm: each row divided by its root mean square, times a weight for each channel (Zhang,
 * Sennrich 2019).
 *
 * Inputs: x [..., channel], weight [channel]. Works on the last axis. Attributes: numbers[0] is
 * epsilon, added to the mean square. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/rows.h"

/** x / sqrt(mean(x^2) + epsilon) * weight over the last axis: x [..., channel], weight [channel]
 * (NULL: all 1). Llama's epsilon is 1e-5. */
CSE_API cse_tensor *cse_rms_norm(cse_tensor *x, cse_tensor *weight, double epsilon)
{
    const cse_attributes attributes = { .number_count = 1, .numbers = { epsilon } };
    if (!cse_trace_is_poison(x) && weight == NULL)
        weight = cse_broadcast_to(cse_constant_like(x, 1), cse_shape_of(cse_row_length(x->shape)));
    return cse_trace(&cse_op_rms_norm, &attributes, 2, (cse_tensor *[]){ x, weight });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_rows(in, shape, dtype));
    cse_shape row = cse_shape_of(cse_row_length(*shape));
    if (!cse_shape_equal(in->shapes[1], row) || in->dtypes[1] != *dtype)
        return cse_fail(CSE_SHAPE, "the weight must be %s [%lld], the size of the last axis",
                        cse_dtype_name(*dtype), (long long)row.dims[0]);
    return CSE_OK;
}

static cse_tensor *row_mean(cse_tensor *x)
{
    return cse_scale(cse_row_sum(x), 1.0 / (double)cse_row_length(cse_tensor_shape(x)));
}

/* x / rms, and 1 / rms as a column. */
static cse_tensor *normalized(cse_tensor *node, cse_tensor **inverse)
{
    cse_tensor *x = node->inputs[0];
    *inverse = cse_rsqrt(cse_shift(row_mean(cse_square(x)), node->attributes.numbers[0]));
    return cse_mul(x, *inverse);
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *inverse;
    return cse_mul(normalized(node, &inverse), node->inputs[1]);
}

/* With u the normalized row and g = dy * weight: dx = (g - u * mean(g * u)) / rms,
 * dweight = sum(dy * u). */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axes[CSE_MAX_RANK], count = node->shape.rank - 1;
    for (int i = 0; i < count; i++)
        axes[i] = i;
    cse_tensor *inverse, *unit = normalized(node, &inverse);
    cse_tensor *g = cse_mul(output_gradient, node->inputs[1]);
    cse_tensor *along = cse_mul(unit, row_mean(cse_mul(g, unit)));
    cse_tensor *by_weight = cse_mul(output_gradient, unit);
    gradients[0] = cse_mul(cse_sub(g, along), inverse);
    gradients[1] = count ? cse_sum(by_weight, axes, count, false) : by_weight;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t rows = cse_row_count(node->shape), length = cse_row_length(node->shape);
    cse_dtype dtype = node->dtype;
    for (int64_t row = 0; row < rows; row++) {
        double squares = 0;
        for (int64_t i = 0; i < length; i++) {
            double x = cse_read_element(dtype, call->inputs[0], row * length + i);
            squares += x * x;
        }
        double rms = sqrt(squares / (double)length + node->attributes.numbers[0]);
        for (int64_t i = 0; i < length; i++)
            cse_write_element(dtype, call->output, row * length + i,
                              cse_read_element(dtype, call->inputs[0], row * length + i) / rms *
                                  cse_read_element(dtype, call->inputs[1], i));
    }
}

const cse_op cse_op_rms_norm = {
    .name = "rms_norm",
    .summary = "each row divided by its root mean square, with a weight for each channel",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_NORM,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expand = expand,
};
