/* The parts of attention; see attention.h. */
#include "engine/ops/attention.h"

#include "engine/trace/rows.h"
#include "engine/trace/trace.h"

extern const cse_op cse_op_scaled_dot_product_attention_gradient, cse_op_fused_attention,
    cse_op_fused_attention_gradient;

/* Far below any score of finite inputs, so that exp of the difference to the row's maximum is
 * exactly 0; finite, so that it is never taken for an overflow. */
static const double masked_score = -1e30;

cse_tensor *cse_attention_weights(const cse_tensor *node)
{
    const cse_attributes *attributes = &node->attributes;
    cse_tensor *products = cse_matmul(node->inputs[0], node->inputs[1], false, true);
    cse_tensor *scores =
        cse_scale(cse_cast(products, CSE_FLOAT32), attributes->numbers[CSE_ATTENTION_SCALE]);
    if (attributes->integers[CSE_ATTENTION_CAUSAL])
        scores = cse_causal_mask(scores, masked_score);
    return cse_softmax(scores, -1);
}

cse_tensor *cse_attention_by_score(const cse_tensor *node, cse_tensor *weights,
                                   cse_tensor *by_weight)
{
    cse_tensor *mean = cse_row_sum(cse_mul(weights, by_weight));
    cse_tensor *by_score = cse_mul(weights, cse_sub(by_weight, mean));
    by_score = cse_scale(by_score, node->attributes.numbers[CSE_ATTENTION_SCALE]);
    return cse_cast(by_score, node->inputs[0]->dtype);
}

/* The attributes of `node` for an op of several results. */
static cse_attributes attributes_for(const cse_tensor *node, int result)
{
    cse_attributes attributes = node->attributes;
    attributes.integer_count = CSE_ATTENTION_INTEGERS;
    attributes.integers[CSE_ATTENTION_RESULT] = result;
    return attributes;
}

void cse_attention_trace_gradients(cse_tensor *node, cse_tensor *output_gradient,
                                   cse_tensor *gradients[])
{
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++) {
        cse_attributes attributes = attributes_for(node, i);
        gradients[i] = cse_trace(
            &cse_op_scaled_dot_product_attention_gradient, &attributes, 4,
            (cse_tensor *[]){ node->inputs[0], node->inputs[1], node->inputs[2], output_gradient });
    }
}

/* ---- fused ---- */

/* [batch, heads, time, head] <-> [batch, time, heads, head]. */
static cse_tensor *exchange(cse_tensor *x)
{
    return cse_transpose(x, cse_axes(0, 2, 1, 3));
}

/* A fused node; attributes that only the composites use are 0, so that equal nodes are merged. */
static cse_tensor *fused(const cse_op *op, const cse_tensor *node, int result,
                         cse_tensor *const inputs[])
{
    cse_attributes attributes = attributes_for(node, result);
    attributes.integers[CSE_ATTENTION_STREAM] = 0;
    attributes.integers[CSE_ATTENTION_SAMPLE_ELEMENTS] = 0;
    attributes.integers[CSE_ATTENTION_WHOLE] = 0;
    return cse_trace(op, &attributes, op->min_inputs, inputs);
}

static cse_tensor *stored_as(cse_tensor *made, cse_dtype dtype)
{
    if (!cse_trace_is_poison(made))
        made->dtype = dtype;
    return made;
}

cse_tensor *cse_attention_fuse(const cse_tensor *node)
{
    cse_tensor *inputs[CSE_ATTENTION_GRADIENTS];
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        inputs[i] = exchange(node->inputs[i]);
    return exchange(
        stored_as(fused(&cse_op_fused_attention, node, CSE_ATTENTION_OUTPUT, inputs), node->dtype));
}

cse_tensor *cse_attention_fuse_gradient(const cse_tensor *node)
{
    cse_tensor *inputs[CSE_ATTENTION_INPUTS];
    for (int i = 0; i < CSE_ATTENTION_GRADIENTS; i++)
        inputs[i] = exchange(node->inputs[i]);
    /* The output is stored in the type that the attention itself stores it in, so that both are
     * merged. */
    const cse_tensor *forward = node->gradient_of;
    cse_dtype stored = forward != NULL && forward->op->expand != NULL && forward->op != node->op &&
                               cse_dtype_is_float(forward->dtype)
                           ? forward->dtype
                           : node->inputs[0]->dtype;
    inputs[CSE_ATTENTION_OF_OUTPUT] =
        stored_as(fused(&cse_op_fused_attention, node, CSE_ATTENTION_OUTPUT, inputs), stored);
    inputs[CSE_ATTENTION_OF_STATISTICS] =
        fused(&cse_op_fused_attention, node, CSE_ATTENTION_STATISTICS, inputs);
    inputs[CSE_ATTENTION_OF_UPSTREAM] = exchange(node->inputs[CSE_ATTENTION_GRADIENTS]);
    int result = (int)node->attributes.integers[CSE_ATTENTION_RESULT];
    return exchange(
        stored_as(fused(&cse_op_fused_attention_gradient, node, result, inputs), node->dtype));
}
