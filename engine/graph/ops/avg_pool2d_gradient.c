/* avg_pool2d_gradient: the gradient of avg_pool2d with respect to its input.
 *
 * Inputs: the pooled input, of which only the shape is read, and the gradient of the output.
 * Attributes: engine/graph/trace/windows.h.
 *
 * Each element of a window gets the same share of the gradient. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/pool2d.h"

/** The gradient with respect to x of the pooling that `like` (an avg_pool2d) did of x, from the
 * gradient of its output. */
CSE_API cse_tensor *cse_avg_pool2d_gradient(cse_tensor *x, cse_tensor *output_gradient,
                                            const cse_tensor *like)
{
    return cse_trace_pool2d_gradient(&cse_op_avg_pool2d_gradient, x, output_gradient, like);
}

/* The op is linear in the output's gradient, and its transpose is avg_pool2d over the same windows.
 */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_pool2d_options options = { .exclude_padding =
                                       !node->attributes.integers[CSE_POOL_COUNT_PADDING] };
    for (int i = 0; i < 2; i++) {
        options.kernel[i] = node->attributes.integers[CSE_POOL_KERNEL + i];
        options.stride[i] = node->attributes.integers[CSE_WINDOW_STRIDE + i];
        options.padding[i] = node->attributes.integers[CSE_WINDOW_PADDING + i];
    }
    gradients[1] = cse_avg_pool2d(output_gradient, &options);
}

static void share(const cse_reference *call, const cse_pool2d_window *window,
                  double output_gradient, double sums[])
{
    (void)call;
    for (int64_t row = window->first[0]; row < window->end[0]; row++)
        for (int64_t column = window->first[1]; column < window->end[1]; column++)
            sums[window->plane + row * window->width + column] += output_gradient / window->divisor;
}

static void reference(const cse_reference *call)
{
    cse_reference_pool2d_gradient(call, share);
}

const cse_op cse_op_avg_pool2d_gradient = {
    .name = "avg_pool2d_gradient",
    .summary = "the gradient of avg_pool2d with respect to its input",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_pool2d_gradient,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_avg_pool2d_gradient },
};
