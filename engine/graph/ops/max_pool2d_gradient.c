/* max_pool2d_gradient: the gradient of max_pool2d with respect to its input.
 *
 * Inputs: the pooled input and the gradient of the output. Attributes:
 * engine/graph/trace/windows.h.
 *
 * The position of each window's maximum is not stored but searched again: the first of equal
 * elements in row-major order, as in max_pool2d. */
#include <math.h>

#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/pool2d.h"

/** The gradient with respect to x of the pooling that `like` (a max_pool2d) did of x, from the
 * gradient of its output. */
CSE_API cse_tensor *cse_max_pool2d_gradient(cse_tensor *x, cse_tensor *output_gradient,
                                            const cse_tensor *like)
{
    return cse_trace_pool2d_gradient(&cse_op_max_pool2d_gradient, x, output_gradient, like);
}

/* The whole gradient goes to the first largest element of the window. */
static void share(const cse_reference *call, const cse_pool2d_window *window,
                  double output_gradient, double sums[])
{
    double largest = -INFINITY;
    int64_t best = window->plane + window->first[0] * window->width + window->first[1];
    for (int64_t row = window->first[0]; row < window->end[0]; row++)
        for (int64_t column = window->first[1]; column < window->end[1]; column++) {
            int64_t here = window->plane + row * window->width + column;
            double x = cse_read_element(call->node->dtype, call->inputs[0], here);
            if (x > largest || (x != x && largest == largest)) {
                largest = x;
                best = here;
            }
        }
    sums[best] += output_gradient;
}

static void reference(const cse_reference *call)
{
    cse_reference_pool2d_gradient(call, share);
}

const cse_op cse_op_max_pool2d_gradient = {
    .name = "max_pool2d_gradient",
    .summary = "the gradient of max_pool2d with respect to its input",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = cse_infer_pool2d_gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_max_pool2d_gradient },
};
