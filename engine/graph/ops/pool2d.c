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
