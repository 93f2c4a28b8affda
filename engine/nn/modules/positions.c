/* Fixed position embeddings, and the masks that data bring along. */
#include <math.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

cse_tensor *cse_sinusoidal_positions(int64_t time, int64_t channels)
{
    cse_tensor *position =
        cse_reshape(cse_cast(cse_iota(time, 0, 1), CSE_FLOAT32), cse_shape_of(time, 1));
    const int64_t pairs = (channels + 1) / 2;
    const double step = log(10000) / (pairs > 1 ? (double)(pairs - 1) : 1);
    cse_tensor *pair = cse_cast(cse_iota(pairs, 0, 1), CSE_FLOAT32);
    cse_tensor *angle = cse_mul(position, cse_exp(cse_scale(pair, -step)));
    cse_tensor *const waves[] = { cse_sin(angle), cse_cos(angle) };
    cse_tensor *table = cse_reshape(cse_stack(waves, 2, -1), cse_shape_of(time, 2 * pairs));
    return channels % 2 == 0 ? table : cse_slice_axis(table, 1, 0, channels);
}

static cse_tensor *refuse(const char *name)
{
    return cse_trace_fail(CSE_SHAPE, "%s must be [batch, key]", name);
}

cse_tensor *cse_padding_mask(cse_tensor *attention_mask)
{
    const cse_shape shape = cse_tensor_shape(attention_mask);
    if (cse_trace_is_poison(attention_mask))
        return attention_mask;
    if (shape.rank != 2)
        return refuse("attention_mask");
    return cse_reshape(cse_cast(attention_mask, CSE_BOOL),
                       cse_shape_of(shape.dims[0], 1, 1, shape.dims[1]));
}

/* [batch, 1, time, time]: whether i - j <= limit[j] for query i and key j; `turned`: whether
 * j - i <= limit[j]. */
static cse_tensor *within(cse_tensor *limit, const char *name, bool turned)
{
    const cse_shape shape = cse_tensor_shape(limit);
    if (cse_trace_is_poison(limit))
        return limit;
    if (shape.rank != 2 || cse_tensor_dtype(limit) != CSE_INT32)
        return refuse(name);
    const int64_t time = shape.dims[1];
    cse_tensor *query = cse_reshape(cse_iota(time, 0, 1), cse_shape_of(time, 1));
    cse_tensor *key = cse_iota(time, 0, 1);
    cse_tensor *distance = turned ? cse_sub(key, query) : cse_sub(query, key);
    return cse_less_equal(cse_reshape(distance, cse_shape_of(1, 1, time, time)),
                          cse_reshape(limit, cse_shape_of(shape.dims[0], 1, 1, time)));
}

cse_tensor *cse_span_mask(cse_tensor *span)
{
    return within(span, "attention_span", false);
}

cse_tensor *cse_sequence_mask(cse_tensor *span, cse_tensor *positions)
{
    return cse_logical_and(within(span, "attention_span", false),
                           within(positions, "position_ids", true));
}

/* ---- spans ---- */

/* Begins and ends [batch, key]. */
static cse_tensor *spans_of(cse_tensor *begins, cse_tensor *ends)
{
    const cse_shape shape = cse_tensor_shape(ends);
    if (cse_trace_is_poison(ends))
        return ends;
    begins = cse_broadcast_to(begins, shape);
    return cse_stack((cse_tensor *const[]){ begins, ends }, 2, 1);
}

/* `limit` where it is at most the time, which no distance exceeds: sums with it stay numbers. */
static cse_tensor *limited(cse_tensor *limit, const char *name)
{
    const cse_shape shape = cse_tensor_shape(limit);
    if (cse_trace_is_poison(limit))
        return limit;
    if (shape.rank != 2 || cse_tensor_dtype(limit) != CSE_INT32)
        return refuse(name);
    const int32_t time = (int32_t)shape.dims[1];
    return cse_maximum(cse_minimum(limit, cse_constant_int(time)), cse_constant_int(-time));
}

/* After the last query i with i - j <= span[j]. */
static cse_tensor *ends_of(cse_tensor *span)
{
    cse_tensor *limit = limited(span, "attention_span");
    if (cse_trace_is_poison(limit))
        return limit;
    return cse_add(limit, cse_iota(cse_tensor_shape(span).dims[1], 1, 1));
}

cse_tensor *cse_padding_spans(cse_tensor *attention_mask, int64_t queries)
{
    if (cse_trace_is_poison(attention_mask))
        return attention_mask;
    if (cse_tensor_shape(attention_mask).rank != 2)
        return refuse("attention_mask");
    return spans_of(cse_constant_int(0),
                    cse_where(cse_cast(attention_mask, CSE_BOOL),
                              cse_constant_int((int32_t)queries), cse_constant_int(0)));
}

cse_tensor *cse_distance_spans(cse_tensor *span)
{
    return spans_of(cse_constant_int(0), ends_of(span));
}

cse_tensor *cse_sequence_spans(cse_tensor *span, cse_tensor *positions)
{
    cse_tensor *ends = ends_of(span), *limit = limited(positions, "position_ids");
    if (cse_trace_is_poison(ends) || cse_trace_is_poison(limit))
        return cse_trace_is_poison(ends) ? ends : limit;
    return spans_of(cse_sub(cse_iota(cse_tensor_shape(positions).dims[1], 0, 1), limit), ends);
}
