/* softmax: each row as probabilities in proportion to exp(x).
 *
 * Works on the last axis. The row's maximum is subtracted first, so that nothing overflows. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/rows.h"

/** exp(x) divided by its sum along `axis` (negative: from the end). */
CSE_API cse_tensor *cse_softmax(cse_tensor *x, int axis)
{
    return cse_trace_along(&cse_op_softmax, x, axis);
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *x = node->inputs[0];
    cse_tensor *powers = cse_exp(cse_sub(x, cse_row_max(x)));
    return cse_mul(powers, cse_reciprocal(cse_row_sum(powers)));
}

/* y * (dy - sum(y * dy)). */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *mean = cse_row_sum(cse_mul(node, output_gradient));
    gradients[0] = cse_mul(node, cse_sub(output_gradient, mean));
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
            cse_write_element(node->dtype, call->output, i, exp(x - maximum) / sum);
        }
    }
}

const cse_op cse_op_softmax = {
    .name = "softmax",
    .summary = "each row as probabilities in proportion to exp(x)",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_SOFTMAX,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_rows,
    .gradient = gradient,
    .reference = reference,
    .expand = expand,
};
