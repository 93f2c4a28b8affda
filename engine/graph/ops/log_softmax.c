/* log_softmax: the logarithm of softmax, without its underflow.
 *
 * Works on the last axis: x - maximum - log(sum(exp(x - maximum))). */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/rows.h"

/** The logarithm of softmax along `axis` (negative: from the end). */
CSE_API cse_tensor *cse_log_softmax(cse_tensor *x, int axis)
{
    return cse_trace_along(&cse_op_log_softmax, x, axis);
}

/** ln(sum(exp(x))) along `axis` (negative: from the end), which goes away, or stays with size 1
 * where `keep_dims`; without overflow. */
CSE_API cse_tensor *cse_logsumexp(cse_tensor *x, int axis, bool keep_dims)
{
    cse_tensor *maximum = cse_stop_gradient(cse_max(x, &axis, 1, true));
    /* A row of infinities has no finite maximum to subtract. */
    maximum = cse_where(cse_is_finite(maximum), maximum, cse_constant_like(x, 0));
    cse_tensor *sum = cse_sum(cse_exp(cse_sub(x, maximum)), &axis, 1, true);
    cse_tensor *kept = cse_add(cse_log(sum), maximum);
    if (keep_dims || cse_trace_is_poison(kept))
        return kept;
    cse_shape shape = { .rank = kept->shape.rank - 1 };
    int along = cse_axis(axis, kept->shape.rank);
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = kept->shape.dims[i < along ? i : i + 1];
    return cse_reshape(kept, shape);
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *x = node->inputs[0];
    cse_tensor *below = cse_sub(x, cse_row_max(x));
    return cse_sub(below, cse_log(cse_row_sum(cse_exp(below))));
}

/* dy - softmax * sum(dy). */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *total = cse_row_sum(output_gradient);
    gradients[0] = cse_sub(output_gradient, cse_mul(cse_exp(node), total));
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t rows = cse_row_count(node->shape), length = cse_row_length(node->shape);
    for (int64_t row = 0; row < rows; row++) {
        double maximum, sum;
        cse_reference_row(call, row, &maximum, &sum);
        for (int64_t i = row * length; i < (row + 1) * length; i++) {
            double x = cse_read_element(node->dtype, call->inputs[0], i);
            cse_write_element(node->dtype, call->output, i, x - maximum - log(sum));
        }
    }
}

const cse_op cse_op_log_softmax = {
    .name = "log_softmax",
    .summary = "the logarithm of softmax",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_LOSS,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_rows,
    .gradient = gradient,
    .reference = reference,
    .expand = expand,
};
