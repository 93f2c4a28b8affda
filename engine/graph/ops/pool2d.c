/* Pooling ops; see pool2d.h. */
#include "engine/graph/ops/pool2d.h"

#include <stdlib.h>

cse_tensor *cse_trace_pool2d(const cse_op *op, cse_tensor *x, const cse_pool2d_options *options)
{
    cse_attributes attributes;
    cse_pool2d_attributes(options, &attributes);
    return cse_trace_1(op, &attributes, x);
}

cse_tensor *cse_trace_pool2d_gradient(const cse_op *op, cse_tensor *x, cse_tensor *output_gradient,
                                      const cse_tensor *like)
{
    const cse_attributes none = { .integer_count = 0 };
    return cse_trace_2(op, cse_trace_is_poison(like) ? &none : &like->attributes, x,
                       output_gradient);
}

void cse_reference_pool2d(const cse_reference *call, cse_pool2d_value *value_of)
{
    const cse_tensor *node = call->node;
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        cse_pool2d_window window =
            cse_pool2d_window_of(&node->attributes, node->inputs[0]->shape, node->shape, i);
        cse_write_element(node->dtype, call->output, i, value_of(call, &window));
    }
}

void cse_reference_pool2d_gradient(const cse_reference *call, cse_pool2d_share *share)
{
    const cse_tensor *node = call->node, *dy = node->inputs[1];
    int64_t count = cse_shape_elements(node->shape);
    double *sums = cse_calloc((size_t)count + 1, sizeof *sums);
    for (int64_t i = 0; i < cse_shape_elements(dy->shape); i++) {
        cse_pool2d_window window =
            cse_pool2d_window_of(&node->attributes, node->shape, dy->shape, i);
        share(call, &window, cse_read_element(dy->dtype, call->inputs[1], i), sums);
    }
    for (int64_t i = 0; i < count; i++)
        cse_write_element(node->dtype, call->output, i, sums[i]);
    free(sums);
}

/* ---- samples ---- */

#define FLOATS(...) CSE_FLOATS(-2, 2, __VA_ARGS__)

#define POOLING(title, bound, x, ...)                                                \
    {                                                                                \
        .name = title, .inputs = { FLOATS x }, .input_count = 1, .tolerance = bound, \
        CSE_WITH_INTEGERS(__VA_ARGS__)                                               \
    }

#define GRADIENT(title, x, dy, ...)                                                            \
    {                                                                                          \
        .name = title, .inputs = { FLOATS x, FLOATS dy }, .input_count = 2, .tolerance = 1e-5, \
        CSE_WITH_INTEGERS(__VA_ARGS__)                                                         \
    }

const cse_op_sample cse_samples_of_max_pool2d[] = {
    POOLING("2 by 2", 0, (2, 3, 8, 6), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    POOLING("overlapping, padded", 0, (2, 3, 9, 7), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    POOLING("padding not counted", 0, (2, 1, 5, 9), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};

/* At most 9 terms below 2 summed in float32 and divided. */
const cse_op_sample cse_samples_of_avg_pool2d[] = {
    POOLING("2 by 2", 1e-5, (2, 3, 8, 6), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    POOLING("overlapping, padded", 1e-5, (2, 3, 9, 7), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    POOLING("padding not counted", 1e-5, (2, 1, 5, 9), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};

/* Up to 9 overlapping windows summed in float32, each below 2. */
const cse_op_sample cse_samples_of_pool2d_gradients[] = {
    GRADIENT("2 by 2", (2, 3, 8, 6), (2, 3, 4, 3), 2, 2, 0, 0, 1, 1, 2, 2, 1),
    GRADIENT("overlapping, padded", (2, 3, 9, 7), (2, 3, 5, 4), 2, 2, 1, 1, 1, 1, 3, 3, 1),
    GRADIENT("padding not counted", (2, 1, 5, 9), (2, 1, 6, 3), 1, 3, 1, 1, 1, 1, 2, 3, 0),
    { .name = NULL },
};
