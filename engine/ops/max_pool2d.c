/* max_pool2d: the largest element of each window.
 *
 * Input: [batch, channel, height, width]. Attributes: engine/trace/windows.h.
 * Padding never wins; a NaN does. */
#include <math.h>

#include "engine/kernels/plan.h"
#include "engine/trace/windows.h"

extern const cse_op cse_op_max_pool2d;

/** The largest element of each window of x [batch, channel, height, width]; padding never wins.
 * Where elements are equal, the first takes the gradient. */
CSE_API cse_tensor *cse_max_pool2d(cse_tensor *x, const cse_pool2d_options *options)
{
    cse_attributes attributes;
    cse_pool2d_attributes(options, &attributes);
    return cse_trace_1(&cse_op_max_pool2d, &attributes, x);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    gradients[0] = cse_max_pool2d_gradient(node->inputs[0], output_gradient, node);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    cse_shape input = node->inputs[0]->shape;
    int64_t count = cse_shape_elements(node->shape);
    for (int64_t i = 0; i < count; i++) {
        cse_pool2d_window at = cse_pool2d_window_of(&node->attributes, input, node->shape, i);
        double result = -INFINITY;
        for (int64_t row = at.first[0]; row < at.end[0]; row++)
            for (int64_t column = at.first[1]; column < at.end[1]; column++) {
                double x = cse_read_element(node->dtype, call->inputs[0],
                                            at.plane + row * at.width + column);
                result = x > result || x != x ? x : result;
            }
        cse_write_element(node->dtype, call->output, i, result);
    }
}

#define WINDOW(...) \
    .input_count = 1, .attributes = { .integer_count = 9, .integers = { __VA_ARGS__ } }

static const cse_op_sample samples[] = {
    { .name = "2 by 2",
      .inputs = { { { 4, { 2, 3, 8, 6 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(2, 2, 0, 0, 1, 1, 2, 2, 1) },
    { .name = "overlapping, padded",
      .inputs = { { { 4, { 2, 3, 9, 7 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(2, 2, 1, 1, 1, 1, 3, 3, 1) },
    { .name = "padding not counted",
      .inputs = { { { 4, { 2, 1, 5, 9 } }, CSE_FLOAT32, -2, 2 } },
      WINDOW(1, 3, 1, 1, 1, 1, 2, 3, 0) },
    { .name = NULL },
};

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
    .samples = samples,
};
