/* Elementwise ops; see elementwise.h. */
#include "engine/graph/ops/elementwise.h"

#include <assert.h>

void cse_reference_unary(const cse_reference *call, double (*function)(double))
{
    int64_t count = cse_shape_elements(call->node->shape);
    cse_dtype from = call->node->inputs[0]->dtype, to = call->node->dtype;
    for (int64_t i = 0; i < count; i++)
        cse_write_element(to, call->output, i,
                          function(cse_read_element(from, call->inputs[0], i)));
}

void cse_reference_binary(const cse_reference *call, double (*function)(double, double))
{
    int64_t count = cse_shape_elements(call->node->shape);
    cse_dtype from = call->node->inputs[0]->dtype, to = call->node->dtype;
    for (int64_t i = 0; i < count; i++) {
        double a = cse_read_element(from, call->inputs[0], i);
        double b = cse_read_element(from, call->inputs[1], i);
        cse_write_element(to, call->output, i, function(a, b));
    }
}

void cse_reference_elementwise(const cse_reference *call)
{
    const cse_op *op = call->node->op;
    assert((op->unary != NULL) != (op->binary != NULL));
    if (op->unary != NULL)
        cse_reference_unary(call, op->unary);
    else
        cse_reference_binary(call, op->binary);
}

void cse_extremum_gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[],
                           cse_tensor *(*is_chosen)(cse_tensor *own, cse_tensor *other))
{
    for (int i = 0; i < 2; i++) {
        cse_tensor *own = node->inputs[i], *other = node->inputs[1 - i];
        cse_tensor *half = cse_scale(cse_cast(cse_equal(own, other), own->dtype), 0.5);
        cse_tensor *share = cse_add(cse_cast(is_chosen(own, other), own->dtype), half);
        gradients[i] = cse_mul(output_gradient, share);
    }
}

cse_tensor *cse_elementwise_2(const cse_op *op, cse_tensor *a, cse_tensor *b)
{
    if (a == NULL || b == NULL || cse_trace_is_poison(a) || cse_trace_is_poison(b))
        return cse_trace_2(op, NULL, a, b);
    cse_shape common;
    if (!cse_shape_broadcast(a->shape, b->shape, &common)) {
        cse_fail(CSE_SHAPE, "the shapes do not broadcast: aligned at the right, two sizes must be "
                            "equal or one of them 1");
        return cse_trace_refuse(op, 2, (cse_tensor *[]){ a, b }, CSE_SHAPE);
    }
    if (!cse_shape_equal(a->shape, common))
        a = cse_broadcast_to(a, common);
    if (!cse_shape_equal(b->shape, common))
        b = cse_broadcast_to(b, common);
    return cse_trace_2(op, NULL, a, b);
}
