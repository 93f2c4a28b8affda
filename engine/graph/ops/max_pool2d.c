/* max_pool2d: the largest element of each window.
 *
 * Input: [batch, channel, height, width]. Attributes: engine/graph/trace/windows.h. Padding is
 * never the maximum; a NaN always is. */
#include <math.h>

#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/pool2d.h"

/** The largest element of each window of x [batch, channel, height, width]; padding is never
 * chosen. The first of equal elements gets the gradient. */
CSE_API cse_tensor *cse_max_pool2d(cse_tensor *x, const cse_pool2d_options *options)
{
    return cse_trace_pool2d(&cse_op_max_pool2d, x, options);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_max_pool2d_gradient(node->inputs[0], output_gradient, node);
}

static double value_of(const cse_reference *call, const cse_pool2d_window *window)
{
    double result = -INFINITY;
    for (int64_t row = window->first[0]; row < window->end[0]; row++)
        for (int64_t column = window->first[1]; column < window->end[1]; column++) {
            double x = cse_read_element(call->node->dtype, call->inputs[0],
                                        window->plane + row * window->width + column);
            result = x > result || x != x ? x : result;
        }
    return result;
}

static void reference(const cse_reference *call)
{
    cse_reference_pool2d(call, value_of);
}

const cse_op cse_op_max_pool2d = {
    .name = "max_pool2d",
    .summary = "the largest element of each window",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_pool2d,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_max_pool2d },
};
