/* Rotary embedding and biases of relative positions; see positions.h. */
#include "engine/graph/ops/positions.h"

#include <math.h>
#include <stdlib.h>

#include "engine/graph/ops/decoding.h"

/* ---- rotary embedding ---- */

/* The speed divided by `scaling`; with Llama 3's rule the share of a pair that is not scaled grows
 * from 0 to 1 with the number of turns it makes in the original length. */
static cse_tensor *scaled_speed(const cse_rotary_options *o, cse_tensor *speed)
{
    cse_tensor *slow = cse_scale(speed, 1 / o->scaling);
    if (o->original_positions == 0)
        return slow;
    cse_tensor *turns = cse_scale(speed, o->original_positions / (2 * acos(-1.0)));
    cse_tensor *kept =
        cse_scale(cse_shift(turns, -o->low_frequency), 1 / (o->high_frequency - o->low_frequency));
    kept = cse_clamp(kept, 0, 1);
    return cse_add(slow, cse_mul(kept, cse_sub(speed, slow)));
}

/* The tokens of the sequences: where they are decoded one by one, all that there may be, since keys
 * that are kept are not turned again. */
static int64_t sequence_length(int64_t time)
{
    const cse_decoding *decoding = cse_trace_decoding();
    return decoding != NULL ? decoding->longest : time;
}

static double log_of_base(const cse_rotary_options *o, int64_t length, int64_t size)
{
    const double base = log(o->base > 0 ? o->base : 10000);
    if (o->dynamic_from == 0 || length <= o->dynamic_from || size <= 2)
        return base;
    const double longer = (double)length / (double)o->dynamic_from;
    return base + log(o->dynamic_factor * longer - (o->dynamic_factor - 1)) * (double)size /
                      (double)(size - 2);
}

static cse_tensor *by_factors(const double *factors, cse_tensor *speed, int64_t pairs)
{
    cse_tensor **parts = cse_calloc((size_t)pairs, sizeof *parts);
    for (int64_t i = 0; i < pairs; i++)
        parts[i] = cse_constant(1 / factors[i]);
    cse_tensor *product = cse_mul(speed, cse_stack(parts, (int)pairs, 0));
    free(parts);
    return product;
}

/* position * base^(-2 i / size) for each pair i: float32 [..., time, size / 2], with an axis for
 * the heads where positions have one for the batch. */
static cse_tensor *angles_of(const cse_rotary_options *o, int64_t time, int64_t size)
{
    const int64_t length = sequence_length(time);
    const double *factors =
        o->long_from > 0 && length > o->long_from ? o->long_factors : o->factors;
    cse_tensor *position = o->positions ? o->positions : cse_iota(time, 0, 1);
    cse_tensor *pair = cse_cast(cse_iota(size / 2, 0, 1), CSE_FLOAT32);
    cse_tensor *speed = cse_exp(cse_scale(pair, -2 * log_of_base(o, length, size) / (double)size));
    if (o->scaling > 0 && o->scaling != 1)
        speed = scaled_speed(o, speed);
    if (factors != NULL)
        speed = by_factors(factors, speed, size / 2);
    if (cse_trace_is_poison(position))
        return position;
    cse_shape column = position->shape.rank == 2 ? cse_shape_of(position->shape.dims[0], 1, time, 1)
                                                 : cse_shape_of(time, 1);
    return cse_mul(cse_cast(cse_reshape(position, column), CSE_FLOAT32), speed);
}

static cse_tensor *every_second(cse_tensor *x, int64_t first)
{
    const cse_shape shape = cse_tensor_shape(x);
    const int64_t starts[] = { 0, 0, 0, first }, steps[] = { 1, 1, 1, 2 };
    return cse_slice(x, starts, shape.dims, steps);
}

/* x, all of whose channels are turned. */
static cse_tensor *turn(cse_tensor *x, const cse_rotary_options *o)
{
    const cse_shape shape = x->shape;
    const int64_t size = shape.dims[3];
    cse_tensor *angles = angles_of(o, shape.dims[2], size);
    cse_tensor *cosine = cse_cos(angles), *sine = cse_sin(angles);
    if (o->magnitude > 0 && o->magnitude != 1) {
        cosine = cse_scale(cosine, o->magnitude);
        sine = cse_scale(sine, o->magnitude);
    }
    cse_tensor *a = o->interleaved ? every_second(x, 0) : cse_slice_axis(x, 3, 0, size / 2);
    cse_tensor *b = o->interleaved ? every_second(x, 1) : cse_slice_axis(x, 3, size / 2, size);
    cse_tensor *const turned[] = { cse_sub(cse_mul(a, cosine), cse_mul(b, sine)),
                                   cse_add(cse_mul(b, cosine), cse_mul(a, sine)) };
    return o->interleaved ? cse_reshape(cse_stack(turned, 2, -1), shape) : cse_concat(turned, 2, 3);
}

static cse_tensor *check_rotary(const cse_tensor *x, const cse_rotary_options *o, int64_t size)
{
    const cse_tensor *p = o->positions;
    bool fits = x->shape.rank == 4 && size > 0 && size % 2 == 0 && size <= x->shape.dims[3] &&
                cse_dtype_is_float(x->dtype);
    if (fits && p != NULL && !cse_trace_is_poison(p))
        fits = p->dtype == CSE_INT32 &&
               (cse_shape_equal(p->shape, cse_shape_of(x->shape.dims[2])) ||
                cse_shape_equal(p->shape, cse_shape_of(x->shape.dims[0], x->shape.dims[2])));
    return fits ? NULL
                : cse_trace_fail(CSE_SHAPE,
                                 "rotary_embedding: x must be floats [batch, heads, time, head], "
                                 "the size even and at most head, positions int32 [time] or "
                                 "[batch, time]");
}

/** The rotary position embedding (Su et al. 2021) of queries or keys x [batch, heads, time, head]:
 * pairs (a, b) of channels are turned by position * base^(-2 i / size), to (a cos - b sin,
 * b cos + a sin). Computed in float32; the result has x's type. `options` NULL: Llama's. */
CSE_API cse_tensor *cse_rotary_embedding(cse_tensor *x, const cse_rotary_options *options)
{
    const cse_rotary_options defaults = { .base = 0 };
    options = options ? options : &defaults;
    if (cse_trace_is_poison(x))
        return cse_cast(x, CSE_FLOAT32);
    const int64_t head = cse_shape_elements(x->shape) > 0 ? x->shape.dims[x->shape.rank - 1] : 0;
    const int64_t size = options->size > 0 ? options->size : head;
    cse_tensor *wrong = check_rotary(x, options, size);
    if (wrong != NULL)
        return wrong;
    cse_tensor *whole = cse_cast(x, CSE_FLOAT32);
    if (size == head)
        return cse_cast(turn(whole, options), x->dtype);
    cse_tensor *const parts[] = { turn(cse_slice_axis(whole, 3, 0, size), options),
                                  cse_slice_axis(whole, 3, size, head) };
    return cse_cast(cse_concat(parts, 2, 3), x->dtype);
}

/* ---- biases ---- */

cse_tensor *cse_relative_positions(int64_t queries, int64_t keys)
{
    cse_tensor *query = cse_reshape(cse_iota(queries, 0, 1), cse_shape_of(queries, 1));
    return cse_sub(cse_iota(keys, 0, 1), query);
}

/* 2^(-8 (first + step i) / count) for i from 1 to `heads`: float32 [heads]. */
static cse_tensor *slopes_of(int64_t heads, int64_t count, double first, double step)
{
    cse_tensor *head = cse_cast(cse_iota(heads, 1, 1), CSE_FLOAT32);
    cse_tensor *place = cse_shift(cse_scale(head, step), first);
    return cse_exp(cse_scale(place, -8 * log(2) / (double)count));
}

/** ALiBi's bias (Press, Smith, Lewis 2021), an additive mask for attention: -slope * |key - query|,
 * float32 [heads, query, key]. The slopes are 2^(-8 i / heads) for heads i = 1, 2, ... that are a
 * power of two in number; else those of the next smaller power of two n, then those of 2 n heads
 * for i = 1, 3, ... */
CSE_API cse_tensor *cse_alibi_bias(int64_t heads, int64_t queries, int64_t keys)
{
    int64_t power = 1;
    if (heads < 1 || heads > (1 << 20))
        return cse_trace_fail(CSE_SHAPE, "alibi_bias: %lld heads; accepted: 1 to 2^20",
                              (long long)heads);
    while (power * 2 <= heads)
        power *= 2;
    cse_tensor *slopes = slopes_of(power, power, 0, 1);
    if (power < heads) {
        cse_tensor *const parts[] = { slopes, slopes_of(heads - power, 2 * power, -1, 2) };
        slopes = cse_concat(parts, 2, 0);
    }
    cse_tensor *distance = cse_abs(cse_cast(cse_relative_positions(queries, keys), CSE_FLOAT32));
    return cse_neg(cse_mul(cse_reshape(slopes, cse_shape_of(heads, 1, 1)), distance));
}

/* The bucket of each distance from 0 on: itself below half the buckets, then ever wider ranges up
 * to max_distance. The bounds are those of the real logarithm, which float32 would miss at some. */
static cse_tensor *bucket_of(cse_tensor *distance, int64_t buckets, int64_t max_distance)
{
    const int64_t exact = buckets / 2;
    cse_tensor *bucket = cse_minimum(distance, cse_constant_int((int32_t)exact));
    for (int64_t b = 1; b < buckets - exact; b++) {
        double ratio = (double)max_distance / (double)exact;
        double bound = (double)exact * pow(ratio, (double)b / (double)(buckets - exact));
        int32_t first = (int32_t)ceil(bound - 1e-9 * bound);
        bucket = cse_add(bucket,
                         cse_cast(cse_greater_equal(distance, cse_constant_int(first)), CSE_INT32));
    }
    return bucket;
}

/** T5's bias of relative positions, an additive mask for attention (Raffel et al. 2020): the row of
 * table [buckets, heads] for the bucket of key - query, float32 [heads, query, key]. Half of the
 * buckets hold one distance each, the others ranges that grow as its logarithm does.
 * `options` NULL: a decoder's, for keys that are not after the query; max_distance 128. */
CSE_API cse_tensor *cse_relative_bias(cse_tensor *table, int64_t queries, int64_t keys,
                                      const cse_relative_bias_options *options)
{
    const cse_relative_bias_options defaults = { .bidirectional = false };
    options = options ? options : &defaults;
    const int64_t max_distance = options->max_distance > 0 ? options->max_distance : 128;
    const bool both = options->bidirectional;
    if (cse_trace_is_poison(table))
        return cse_gather(table, NULL);
    const int64_t buckets = table->shape.dims[0] / (both ? 2 : 1);
    if (table->shape.rank != 2 || buckets < 2 || buckets > 4096 || max_distance <= buckets / 2 ||
        max_distance > INT32_MAX || (both && table->shape.dims[0] % 2 != 0))
        return cse_trace_fail(CSE_SHAPE,
                              "relative_bias: the table must be [buckets, heads] with 2 to 4096 "
                              "buckets a direction, half of them fewer than max_distance");
    cse_tensor *relative = cse_relative_positions(queries, keys);
    cse_tensor *negative = cse_sub(cse_constant_int(0), relative);
    cse_tensor *distance = cse_maximum(negative, both ? relative : cse_constant_int(0));
    cse_tensor *bucket = bucket_of(distance, buckets, max_distance);
    if (both) {
        cse_tensor *later = cse_greater(relative, cse_constant_int(0));
        bucket = cse_where(later, cse_add(bucket, cse_constant_int((int32_t)buckets)), bucket);
    }
    return cse_transpose(cse_gather(cse_cast(table, CSE_FLOAT32), bucket), cse_axes(2, 0, 1));
}
