/* avg_pool2d_gradient: the gradient of avg_pool2d with respect to its input.
 *
 * Inputs: the pooled input and the gradient of the output. Attributes: engine/trace/windows.h.
 *
 * Each element of a window gets the same share. The input is read for its shape alone. */
#include <stdlib.h>

#include "engine/kernels/plan.h"
#include "engine/trace/windows.h"

extern const cse_op cse_op_avg_pool2d_gradient;

/** The gradient with respect to x of the pooling that `like` (a avg_pool2d) did of x, from the
 * gradient of its output. */
CSE_API cse_tensor *cse_avg_pool2d_gradient(cse_tensor *x, cse_tensor *output_gradient,
                                            const cse_tensor *like)
{
    const cse_attributes none = { .integer_count = 0 };
    return cse_trace_2(&cse_op_avg_pool2d_gradient,
                       cse_trace_is_poison(like) ? &none : &like->attributes, x, output_gradient);
}

/* Linear in the output's gradient: the means of what comes back, over the same windows. */
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

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *dy = node->inputs[1];
    int64_t count = cse_shape_elements(node->shape), pooled = cse_shape_elements(dy->shape);
    double *sums = cse_calloc((size_t)count + 1, sizeof *sums);
    for (int64_t i = 0; i < pooled; i++) {
        cse_pool2d_window at = cse_pool2d_window_of(&node->attributes, node->shape, dy->shape, i);
        double g = cse_read_element(dy->dtype, call->inputs[1], i);
        for (int64_t row = at.first[0]; row < at.end[0]; row++)
            for (int64_t column = at.first[1]; column < at.end[1]; column++)
                sums[at.plane + row * at.width + column] += g / at.divisor;
    }
    for (int64_t i = 0; i < count; i++)
        cse_write_element(node->dtype, call->output, i, sums[i]);
    free(sums);
}

/* Up to 9 overlapping windows summed in float32, each below 2. */
#define WINDOW(...)                      \
    .input_count = 2, .tolerance = 1e-5, \
    .attributes = { .integer_count = 9, .integers = { __VA_ARGS__ } }

static const cse_op_sample samples[] = {
    { .name = "2 by 2",
      .inputs = { { { 4, { 2, 3, 8, 6 } }, CSE_FLOAT32, -2, 2 },
                  { { 4, { 2, 3, 4, 3 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(2, 2, 0, 0, 1, 1, 2, 2, 1) },
    { .name = "overlapping, padded",
      .inputs = { { { 4, { 2, 3, 9, 7 } }, CSE_FLOAT32, -2, 2 },
                  { { 4, { 2, 3, 5, 4 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(2, 2, 1, 1, 1, 1, 3, 3, 1) },
    { .name = "padding not counted",
      .inputs = { { { 4, { 2, 1, 5, 9 } }, CSE_FLOAT32, -2, 2 },
                  { { 4, { 2, 1, 6, 3 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(1, 3, 1, 1, 1, 1, 2, 3, 0) },
    { .name = NULL },
};

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
    .samples = samples,
};
