/* The most common maximum, of windows 2 x 2 with stride 2 and no padding: no element is in two
 * windows, so that each row of windows is read and written once, without branches. */
#include <string.h>

#include "engine/base/vector_clones.h"
#include "engine/code/kernels/pool2d.h"

/* Windows that are computed together. The compiler makes vectors of loops of a known length over
 * arrays that no pointer reaches. */
enum { BLOCK = 16 };

typedef struct columns {
    float even[BLOCK], odd[BLOCK];
} columns;

/* The columns of up to a block of windows; what is behind the last window is 0. */
CSE_VECTOR_INLINE void load(const float *row, int64_t windows, columns *to)
{
    float both[2 * BLOCK] = { 0 };
    memcpy(both, row, (size_t)windows * 2 * sizeof *row);
    for (int i = 0; i < BLOCK; i++) {
        to->even[i] = both[2 * i];
        to->odd[i] = both[2 * i + 1];
    }
}

CSE_VECTOR_INLINE void store(float *row, int64_t windows, const columns *from)
{
    float both[2 * BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        both[2 * i] = from->even[i];
        both[2 * i + 1] = from->odd[i];
    }
    memcpy(row, both, (size_t)windows * 2 * sizeof *row);
}

CSE_VECTOR_INLINE void take_maxima(const float *values, int64_t size, float *pooled,
                                   int64_t windows)
{
    columns top, bottom;
    float result[BLOCK];
    load(values, windows, &top);
    load(values + size, windows, &bottom);
    for (int i = 0; i < BLOCK; i++) {
        const float first = cse_pool2d_later(top.even[i], top.odd[i]);
        result[i] = cse_pool2d_later(cse_pool2d_later(first, bottom.even[i]), bottom.odd[i]);
    }
    memcpy(pooled, result, (size_t)windows * sizeof *pooled);
}

/* Keeps the first maxima and their numbers in the window. */
CSE_VECTOR_INLINE void keep_first(float *largest, int32_t *winners, const float *x, int32_t number)
{
    for (int i = 0; i < BLOCK; i++) {
        const bool takes = cse_pool2d_takes(largest[i], x[i]);
        winners[i] = takes ? number : winners[i];
        largest[i] = takes ? x[i] : largest[i];
    }
}

/* Each window's share goes to its first maximum; `gradient` has the rows of `values`, `size`
 * columns each. */
CSE_VECTOR_INLINE void give_to_maxima(const float *values, float *gradient, int64_t size,
                                      const float *pooled, int64_t windows)
{
    columns top, bottom, to_top, to_bottom;
    float shares[BLOCK] = { 0 }, largest[BLOCK];
    int32_t winners[BLOCK] = { 0 };
    memcpy(shares, pooled, (size_t)windows * sizeof *pooled);
    load(values, windows, &top);
    load(values + size, windows, &bottom);
    memcpy(largest, top.even, sizeof largest);
    keep_first(largest, winners, top.odd, 1);
    keep_first(largest, winners, bottom.even, 2);
    keep_first(largest, winners, bottom.odd, 3);
    for (int i = 0; i < BLOCK; i++) {
        const float share = 0.0f + shares[i];
        to_top.even[i] = winners[i] == 0 ? share : 0.0f;
        to_top.odd[i] = winners[i] == 1 ? share : 0.0f;
        to_bottom.even[i] = winners[i] == 2 ? share : 0.0f;
        to_bottom.odd[i] = winners[i] == 3 ? share : 0.0f;
    }
    store(gradient, windows, &to_top);
    store(gradient + size, windows, &to_bottom);
}

CSE_VECTOR_CLONES(void, pool_row, (const float *values, int64_t size, float *pooled, int64_t count),
                  (values, size, pooled, count))
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        take_maxima(values + 2 * i, size, pooled + i, BLOCK);
    if (i < count)
        take_maxima(values + 2 * i, size, pooled + i, count - i);
}

CSE_VECTOR_CLONES(void, pool_gradient_row,
                  (const float *values, float *gradient, int64_t size, const float *pooled,
                   int64_t count),
                  (values, gradient, size, pooled, count))
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        give_to_maxima(values + 2 * i, gradient + 2 * i, size, pooled + i, BLOCK);
    if (i < count)
        give_to_maxima(values + 2 * i, gradient + 2 * i, size, pooled + i, count - i);
}

static void run(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    const int64_t size = kernel->sizes[1], count = kernel->pooled[1];
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const float *values = plane->values + 2 * row * size;
        float *pooled = plane->pooled + row * count;
        if (!kernel->gradient) {
            pool_row(values, size, pooled, count);
            continue;
        }
        float *gradient = plane->gradient + 2 * row * size;
        pool_gradient_row(values, gradient, size, pooled, count);
        if (size % 2 != 0) /* the last column is in no window */
            gradient[size - 1] = gradient[2 * size - 1] = 0;
    }
    if (kernel->gradient && kernel->sizes[0] % 2 != 0)
        memset(plane->gradient + (kernel->sizes[0] - 1) * size, 0, (size_t)size * sizeof(float));
}

bool cse_pool2d_is_in_pairs(const cse_pool2d *kernel)
{
    bool pairs = kernel->maximum;
    for (int axis = 0; axis < 2; axis++)
        pairs = pairs && kernel->kernel[axis] == 2 && kernel->stride[axis] == 2 &&
                kernel->padding[axis] == 0;
    return pairs;
}

const cse_pool2d_way cse_pool2d_pairs = { .name = "pairs",
                                          .fits = cse_pool2d_is_in_pairs,
                                          .run = run };
