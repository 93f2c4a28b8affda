/* Positions of tokens, with and without others before them. */
#include "engine/trace/decoding.h"

#include "engine/trace/trace.h"

const cse_decoding *cse_trace_decoding(void)
{
    const cse_graph *graph = cse_trace_graph();
    return graph != NULL ? graph->decoding : NULL;
}

static cse_tensor *past_of_pass(void)
{
    const cse_decoding *decoding = cse_trace_decoding();
    return decoding != NULL ? decoding->past : NULL;
}

cse_tensor *cse_token_positions(int64_t count)
{
    cse_tensor *past = past_of_pass(), *positions = cse_iota(count, 0, 1);
    if (past == NULL || cse_trace_is_poison(positions))
        return positions;
    past = cse_reshape(past, cse_shape_of(past->shape.dims[0], 1));
    return cse_add(past, positions);
}

cse_tensor *cse_position_rows(cse_tensor *table, int64_t count)
{
    return past_of_pass() == NULL ? cse_slice_axis(table, 0, 0, count)
                                  : cse_embedding(table, cse_token_positions(count));
}
