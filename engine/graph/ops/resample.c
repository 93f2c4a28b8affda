/* Interpolation and adaptive pooling of images; see resample.h. */
#include "engine/graph/ops/resample.h"

cse_tensor *cse_resample_nearest(cse_tensor *x, int axis, int64_t size)
{
    if (cse_trace_is_poison(x) || x->shape.dims[axis] == size)
        return x;
    int64_t from = x->shape.dims[axis];
    if (size % from == 0)
        return cse_repeat_interleave(x, axis, size / from);
    cse_tensor *scaled = cse_iota(size, 0, (int32_t)from);
    return cse_index_select(x, axis, cse_floor_divide(scaled, cse_constant_int((int32_t)size)));
}

/* Where the elements of the result lie on the axis of `from` elements; float32 [size]. */
static cse_tensor *positions_of(int64_t from, int64_t size, bool align_corners)
{
    cse_tensor *index = cse_cast(cse_iota(size, 0, 1), CSE_FLOAT32);
    if (align_corners)
        return cse_scale(index, size > 1 ? (double)(from - 1) / (double)(size - 1) : 0);
    cse_tensor *centre = cse_scale(cse_shift(index, 0.5), (double)from / (double)size);
    return cse_maximum(cse_shift(centre, -0.5), cse_constant(0));
}

cse_tensor *cse_resample_linear(cse_tensor *x, int axis, int64_t size, bool align_corners)
{
    if (cse_trace_is_poison(x) || x->shape.dims[axis] == size)
        return x;
    int64_t from = x->shape.dims[axis];
    cse_shape column = { .rank = x->shape.rank };
    for (int i = 0; i < column.rank; i++)
        column.dims[i] = i == axis ? size : 1;
    cse_tensor *position = positions_of(from, size, align_corners);
    cse_tensor *last = cse_constant_int((int32_t)(from - 1));
    cse_tensor *low = cse_minimum(cse_cast(position, CSE_INT32), last);
    cse_tensor *high = cse_minimum(cse_add(low, cse_constant_int(1)), last);
    cse_tensor *way = cse_sub(position, cse_cast(low, CSE_FLOAT32));
    cse_tensor *left = cse_index_select(x, axis, low), *right = cse_index_select(x, axis, high);
    way = cse_cast(cse_reshape(way, column), x->dtype);
    return cse_add(left, cse_mul(cse_sub(right, left), way));
}

/** x [batch, channel, height, width] with other numbers of rows and columns, as PyTorch's
 * interpolate with modes nearest and bilinear. */
CSE_API cse_tensor *cse_interpolate(cse_tensor *x, const cse_interpolate_options *options)
{
    const int64_t most = INT32_MAX;
    if (cse_trace_is_poison(x))
        return cse_reshape(x, cse_scalar_shape);
    for (int i = 0; i < 2; i++)
        if (x->shape.rank != 4 || options->size[i] < 1 || x->shape.dims[2 + i] < 1 ||
            options->size[i] > most / x->shape.dims[2 + i])
            return cse_trace_fail(CSE_SHAPE,
                                  "interpolate: x must be [batch, channel, height, width], the "
                                  "size at least 1 and at most 2^31 over x's");
    for (int i = 0; i < 2; i++)
        x = options->bilinear
                ? cse_resample_linear(x, 2 + i, options->size[i], options->align_corners)
                : cse_resample_nearest(x, 2 + i, options->size[i]);
    return x;
}

/* The share of each element of an axis in each bin, which begins at floor(bin * from / size) and
 * ends before ceil((bin + 1) * from / size): float32 [size, from]. */
static cse_tensor *shares_of(int64_t from, int64_t size)
{
    cse_tensor *count = cse_constant_int((int32_t)size);
    cse_tensor *begin = cse_floor_divide(cse_iota(size, 0, (int32_t)from), count);
    cse_tensor *end =
        cse_floor_divide(cse_iota(size, (int32_t)(from + size - 1), (int32_t)from), count);
    begin = cse_reshape(begin, cse_shape_of(size, 1));
    end = cse_reshape(end, cse_shape_of(size, 1));
    cse_tensor *element = cse_iota(from, 0, 1);
    cse_tensor *inside = cse_logical_and(cse_greater_equal(element, begin), cse_less(element, end));
    return cse_div(cse_cast(inside, CSE_FLOAT32), cse_cast(cse_sub(end, begin), CSE_FLOAT32));
}

static cse_tensor *pool_rows(cse_tensor *x, int64_t size)
{
    cse_tensor *shares = shares_of(x->shape.dims[3], size);
    return cse_linear(x, cse_cast(shares, x->dtype), NULL);
}

/** The means of x [batch, channel, height, width] over `height` x `width` bins, as PyTorch's
 * adaptive_avg_pool2d: [batch, channel, height, width]. */
CSE_API cse_tensor *cse_adaptive_avg_pool2d(cse_tensor *x, int64_t height, int64_t width)
{
    if (cse_trace_is_poison(x))
        return cse_reshape(x, cse_scalar_shape);
    const int64_t *from = x->shape.dims;
    if (x->shape.rank != 4 || height < 1 || width < 1 || height > (1 << 15) || width > (1 << 15) ||
        from[2] > (1 << 15) || from[3] > (1 << 15))
        return cse_trace_fail(CSE_SHAPE, "adaptive_avg_pool2d: x must be [batch, channel, height, "
                                         "width]; sizes from 1 to 32768");
    if (from[2] % height == 0 && from[3] % width == 0) {
        const cse_pool2d_options even = { .kernel = { from[2] / height, from[3] / width } };
        return cse_avg_pool2d(x, &even);
    }
    x = pool_rows(x, width);
    x = pool_rows(cse_transpose(x, cse_axes(0, 1, 3, 2)), height);
    return cse_transpose(x, cse_axes(0, 1, 3, 2));
}
