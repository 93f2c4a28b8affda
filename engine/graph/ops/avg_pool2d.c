/* avg_pool2d: the mean of each window.
 *
 * Input: [batch, channel, height, width]. Attributes: engine/graph/trace/windows.h. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/pool2d.h"

/** The mean of each window of x [batch, channel, height, width]. Padding counts as zeros unless
 * options->exclude_padding. */
CSE_API cse_tensor *cse_avg_pool2d(cse_tensor *x, const cse_pool2d_options *options)
{
    return cse_trace_pool2d(&cse_op_avg_pool2d, x, options);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_avg_pool2d_gradient(node->inputs[0], output_gradient, node);
}

static double value_of(const cse_reference *call, const cse_pool2d_window *window)
{
    double result = 0;
    for (int64_t row = window->first[0]; row < window->end[0]; row++)
        for (int64_t column = window->first[1]; column < window->end[1]; column++) {
            double x = cse_read_element(call->node->dtype, call->inputs[0],
                                        window->plane + row * window->width + column);
            result += x;
        }
    return result / window->divisor;
}

static void reference(const cse_reference *call)
{
    cse_reference_pool2d(call, value_of);
}

const cse_op cse_op_avg_pool2d = {
    .name = "avg_pool2d",
    .summary = "the mean of each window",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_pool2d,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_avg_pool2d },
};
