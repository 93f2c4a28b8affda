/* Positions of tokens that others precede. */
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
