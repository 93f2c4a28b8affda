/* What a pass asks of the tokens that precede it, and the attention without asking. */
#include "engine/graph/ops/decoding.h"

#include "engine/graph/trace/trace.h"

const cse_decoding *cse_trace_decoding(void)
{
    const cse_graph *graph = cse_trace_graph();
    return graph != NULL ? graph->decoding : NULL;
}

cse_tensor *cse_trace_following_positions(int64_t count)
{
    const cse_decoding *decoding = cse_trace_decoding();
    if (decoding == NULL || decoding->past == NULL)
        return NULL;
    cse_tensor *past = decoding->past;
    past = cse_reshape(past, cse_shape_of(past->shape.dims[0], 1));
    return cse_add(past, cse_iota(count, 0, 1));
}

cse_tensor *cse_plain_attention(cse_tensor *q, cse_tensor *k, cse_tensor *v,
                                const cse_attention_options *options)
{
    cse_graph *graph = cse_trace_graph();
    const cse_decoding *decoding = graph->decoding;
    graph->decoding = NULL;
    cse_tensor *result = cse_scaled_dot_product_attention(q, k, v, options);
    graph->decoding = decoding;
    return result;
}
