/* Attention weights are the same whether a key's bias is its slope times its distance to the query
 * or times its position: scores of one query differ by a constant. Falcon's code computes the
 * latter in bfloat16, whose rounding its weights were trained with. */
#include "engine/nn/models/alibi.h"

#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"

/* float32 [heads, 1, 1]. */
static cse_tensor *slopes_of(int64_t heads)
{
    return cse_neg(cse_slice_axis(cse_alibi_bias(heads, 2, 1), 1, 1, 2));
}

static cse_tensor *rounded(cse_tensor *x)
{
    return cse_cast(cse_cast(x, CSE_BFLOAT16), CSE_FLOAT32);
}

cse_tensor *cse_decoder_alibi(const cse_decoder_alibi_options *o)
{
    const cse_decoding *decoding = cse_trace_decoding();
    const bool follows = decoding != NULL && decoding->past != NULL;
    if (!follows && !o->is_falcon)
        return cse_alibi_bias(o->heads, o->time, o->time);
    cse_tensor *keys = cse_cast(cse_iota(follows ? decoding->keys : o->time, 0, 1), CSE_FLOAT32);
    cse_tensor *slopes = slopes_of(o->heads);
    if (o->is_falcon)
        return cse_scale(rounded(cse_mul(rounded(slopes), rounded(keys))), o->scale);
    cse_tensor *past = cse_cast(cse_reshape(decoding->past, cse_shape_of(1, 1)), CSE_FLOAT32);
    return cse_mul(slopes, cse_sub(keys, past));
}
