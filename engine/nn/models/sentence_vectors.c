/* Tokens of padding have no part in a text's vector. */
#include "engine/nn/models/sentence_vectors.h"

#include "engine/graph/trace/trace.h"

/* The sum over tokens over their number, or over its root. */
static cse_tensor *mean_of_tokens(cse_tensor *x, cse_tensor *weights, bool by_root)
{
    cse_tensor *count = cse_maximum(cse_sum(weights, cse_axes(1), false), cse_constant(1e-9));
    cse_tensor *sum = cse_sum(cse_mul(x, weights), cse_axes(1), false);
    return cse_div(sum, by_root ? cse_sqrt(count) : count);
}

cse_tensor *cse_pool_tokens(const char *pooling, cse_tensor *x, cse_tensor *mask)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(mask))
        return x;
    const cse_shape shape = cse_tensor_shape(x);
    const cse_dtype dtype = cse_tensor_dtype(x);
    if (pooling[0] == 'c')
        return cse_reshape(cse_slice_axis(x, 1, 0, 1), cse_shape_of(shape.dims[0], shape.dims[2]));
    const cse_shape column = cse_shape_of(shape.dims[0], shape.dims[1], 1);
    x = cse_cast(x, CSE_FLOAT32);
    cse_tensor *weights = mask != NULL ? cse_reshape(cse_cast(mask, CSE_FLOAT32), column)
                                       : cse_broadcast_to(cse_constant(1), column);
    if (pooling[1] == 'e')
        return cse_cast(mean_of_tokens(x, weights, pooling[4] == '_'), dtype);
    x = cse_where(cse_cast(weights, CSE_BOOL), x, cse_constant(-1e9));
    return cse_cast(cse_max(x, cse_axes(1), false), dtype);
}

cse_tensor *cse_normalize_vectors(cse_tensor *x)
{
    if (cse_trace_is_poison(x))
        return x;
    cse_tensor *wide = cse_cast(x, CSE_FLOAT32);
    cse_tensor *squares = cse_sum(cse_square(wide), cse_axes(-1), true);
    cse_tensor *length = cse_sqrt(cse_maximum(squares, cse_constant(1e-24)));
    return cse_cast(cse_div(wide, length), cse_tensor_dtype(x));
}

cse_tensor *cse_contrastive_loss(cse_tensor *vectors, double scale)
{
    if (cse_trace_is_poison(vectors))
        return vectors;
    const cse_shape shape = cse_tensor_shape(vectors);
    const int64_t batch = shape.dims[0], others = shape.dims[1] - 1, channels = shape.dims[2];
    if (batch * others < 2)
        return cse_trace_fail(CSE_CONFIG,
                              "the contrastive loss compares the texts of a microbatch, which has "
                              "one pair here; set micro_batch_size to 2 or more");
    vectors = cse_normalize_vectors(vectors);
    cse_tensor *anchors =
        cse_reshape(cse_slice_axis(vectors, 1, 0, 1), cse_shape_of(batch, channels));
    cse_tensor *texts = cse_transpose(cse_slice_axis(vectors, 1, 1, others + 1), cse_axes(1, 0, 2));
    texts = cse_reshape(texts, cse_shape_of(others * batch, channels));
    cse_tensor *scores = cse_scale(cse_matmul(anchors, texts, false, true), scale);
    return cse_classification_loss(scores, cse_iota(batch, 0, 1));
}
