/* The parts of attention; see attention.h. */
#include "engine/graph/ops/attention.h"

#include "engine/graph/ops/positions.h"
#include "engine/graph/ops/rows.h"
#include "engine/graph/trace/trace.h"

/* Far below any score of finite inputs, so that exp of the difference to the row's maximum is
 * exactly 0; finite, so that it is never taken for an overflow. */
static const double masked_score = -1e30;

/* `scores` [batch, heads, query, key] where `seen`, which broadcasts to it, holds. */
static cse_tensor *keep_scores(cse_tensor *seen, cse_tensor *scores)
{
    return cse_where(seen, scores, cse_constant(masked_score));
}

/* The softmax; a score at the masked value counts as hidden, whatever hid it; a row of nothing else
 * has weights of 0. */
static cse_tensor *weights_of_seen(cse_tensor *scores)
{
    cse_tensor *weights = cse_softmax(scores, -1);
    return cse_where(cse_greater(scores, cse_constant(masked_score * 0.9)), weights,
                     cse_constant(0));
}

/* ---- spans ---- */

static cse_tensor *within_spans(cse_tensor *spans, int64_t queries)
{
    const cse_shape row = cse_shape_of(spans->shape.dims[0], 1, 1, spans->shape.dims[2]);
    cse_tensor *query = cse_reshape(cse_iota(queries, 0, 1), cse_shape_of(queries, 1));
    cse_tensor *begins = cse_reshape(cse_slice_axis(spans, 1, 0, 1), row);
    cse_tensor *ends = cse_reshape(cse_slice_axis(spans, 1, 1, 2), row);
    return cse_logical_and(cse_less_equal(begins, query), cse_less(query, ends));
}

static cse_tensor *labelled(cse_tensor *x, const char *label)
{
    if (!cse_trace_is_poison(x))
        x->label = label;
    return x;
}

cse_tensor *cse_attention_weights(const cse_tensor *node, cse_tensor **scores_of)
{
    const cse_attributes *attributes = &node->attributes;
    cse_tensor *products = cse_matmul(node->inputs[0], node->inputs[1], false, true);
    cse_tensor *scores =
        cse_scale(cse_cast(products, CSE_FLOAT32), attributes->numbers[CSE_ATTENTION_SCALE]);
    cse_tensor *spans = cse_attention_spans_of(node);
    if (spans != NULL && !cse_trace_is_poison(scores))
        scores = keep_scores(within_spans(spans, scores->shape.dims[2]), scores);
    if (attributes->integers[CSE_ATTENTION_CAUSAL])
        scores = cse_causal_mask(scores, masked_score);
    labelled(scores, CSE_ATTENTION_SCORES);
    if (scores_of != NULL)
        *scores_of = scores;
    return labelled(spans != NULL ? weights_of_seen(scores) : cse_softmax(scores, -1),
                    CSE_ATTENTION_PROBABILITIES);
}

/* ---- grouped heads and masks ---- */

cse_tensor *cse_attention_repeat_heads(cse_tensor *x, const cse_tensor *q)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(q) || x->shape.rank != 4 ||
        q->shape.rank != 4)
        return x;
    int64_t own = x->shape.dims[1], heads = q->shape.dims[1];
    return own > 0 && own < heads && heads % own == 0 ? cse_repeat_interleave(x, 1, heads / own)
                                                      : x;
}

bool cse_attention_is_masked(const cse_attention_options *options)
{
    return options->mask != NULL || options->key_lengths != NULL || options->window > 0 ||
           options->cap > 0 || options->spans != NULL;
}

/* Whether key j is less than `window` places from query i, or one of the sink: [query, key].
 * Later keys are left to causal_mask. */
static cse_tensor *within_window(int64_t queries, int64_t keys,
                                 const cse_attention_options *options)
{
    const int64_t window = options->window;
    const int64_t farthest = queries + keys;
    cse_tensor *relative = cse_relative_positions(queries, keys);
    cse_tensor *distance = cse_maximum(relative, cse_sub(cse_constant_int(0), relative));
    cse_tensor *near =
        cse_less(distance, cse_constant_int((int32_t)(window < farthest ? window : farthest)));
    if (options->sink == 0)
        return near;
    const int64_t sink = options->sink < keys ? options->sink : keys;
    return cse_logical_or(near, cse_less(cse_iota(keys, 0, 1), cse_constant_int((int32_t)sink)));
}

static cse_tensor *within_lengths(cse_tensor *lengths, cse_shape scores)
{
    if (cse_trace_is_poison(lengths))
        return lengths;
    if (lengths->dtype != CSE_INT32 || lengths->shape.rank != 1 ||
        lengths->shape.dims[0] != scores.dims[0])
        return cse_trace_fail(CSE_SHAPE,
                              "scaled_dot_product_attention: key_lengths must be int32 [%lld], one "
                              "for each sample",
                              (long long)scores.dims[0]);
    return cse_less(cse_iota(scores.dims[3], 0, 1),
                    cse_reshape(lengths, cse_shape_of(scores.dims[0], 1, 1, 1)));
}

static cse_tensor *with_mask(cse_tensor *mask, cse_tensor *scores)
{
    cse_shape common = scores->shape;
    char given[128], wanted[128];
    if (cse_trace_is_poison(mask))
        return mask;
    if (mask->dtype == CSE_INT32 || !cse_shape_broadcast(scores->shape, mask->shape, &common) ||
        !cse_shape_equal(common, scores->shape))
        return cse_trace_fail(CSE_SHAPE,
                              "scaled_dot_product_attention: the mask is %s %s; it must be bool or "
                              "floats that broadcast to [batch, heads, query, key], here %s",
                              cse_dtype_name(mask->dtype),
                              cse_shape_text(mask->shape, given, sizeof given),
                              cse_shape_text(scores->shape, wanted, sizeof wanted));
    if (mask->dtype == CSE_BOOL)
        return keep_scores(mask, scores);
    /* Minus infinity, as masks have it, would make NaN of the difference to the maximum. */
    return cse_maximum(cse_add(scores, cse_cast(mask, CSE_FLOAT32)), cse_constant(masked_score));
}

cse_tensor *cse_attention_masked(cse_tensor *const inputs[3], double scale,
                                 const cse_attention_options *options)
{
    cse_tensor *products = cse_matmul(inputs[0], inputs[1], false, true);
    cse_tensor *scores = cse_scale(cse_cast(products, CSE_FLOAT32), scale);
    if (cse_trace_is_poison(scores))
        return scores;
    const cse_shape shape = scores->shape;
    if (options->cap > 0)
        scores = cse_scale(cse_tanh(cse_scale(scores, 1 / options->cap)), options->cap);
    if (options->mask != NULL)
        scores = with_mask(options->mask, scores);
    if (options->key_lengths != NULL)
        scores = keep_scores(within_lengths(options->key_lengths, shape), scores);
    if (options->window > 0)
        scores = keep_scores(within_window(shape.dims[2], shape.dims[3], options), scores);
    if (options->spans != NULL)
        scores = keep_scores(within_spans(options->spans, shape.dims[2]), scores);
    if (options->causal)
        scores = cse_causal_mask(scores, masked_score);
    cse_tensor *weights = weights_of_seen(scores);
    if (options->dropout > 0)
        weights = cse_dropout(weights, options->dropout,
                              options->dropout_stream ? options->dropout_stream : "attention");
    return cse_matmul(cse_cast(weights, inputs[2]->dtype), inputs[2], false, false);
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
cse_attributes cse_attention_attributes(const cse_tensor *node, int result)
{
    cse_attributes attributes = node->attributes;
    attributes.integer_count = CSE_ATTENTION_INTEGERS;
    attributes.integers[CSE_ATTENTION_RESULT] = result;
    return attributes;
}

/* ---- fused ---- */

/* [batch, heads, time, head] <-> [batch, time, heads, head]. */
static cse_tensor *exchange(cse_tensor *x)
{
    return cse_transpose(x, cse_axes(0, 2, 1, 3));
}

/* A fused node of `inputs` and the spans; attributes that only the composites use are 0, so that
 * equal nodes are merged. */
static cse_tensor *fused(const cse_op *op, const cse_tensor *node, int result,
                         cse_tensor *const inputs[])
{
    cse_tensor *all[CSE_ATTENTION_INPUTS + 1], *spans = cse_attention_spans_of(node);
    cse_attributes attributes = cse_attention_attributes(node, result);
    attributes.integers[CSE_ATTENTION_STREAM] = 0;
    attributes.integers[CSE_ATTENTION_SAMPLE_ELEMENTS] = 0;
    attributes.integers[CSE_ATTENTION_WHOLE] = 0;
    for (int i = 0; i < op->min_inputs; i++)
        all[i] = inputs[i];
    all[op->min_inputs] = spans;
    return cse_trace(op, &attributes, op->min_inputs + (spans != NULL), all);
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
