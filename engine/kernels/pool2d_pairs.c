/* The most common maximum, of windows 2 x 2 with stride 2 and no padding: no element is in two
 * windows, so that each row of windows is read and written once, without branches. */
#include <string.h>

#include "engine/base/vector_clones.h"
#include "engine/kernels/pool2d.h"

/* Windows that are computed together; the compiler makes vectors of loops of a known length. */
enum { BLOCK = 16 };

/* Windows over the rows `top` and `bottom`. */
CSE_VECTOR_INLINE void take_maxima(const float *top, const float *bottom, float *pooled,
                                   int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float result = cse_pool2d_later(-INFINITY, top[2 * i]);
        result = cse_pool2d_later(result, top[2 * i + 1]);
        result = cse_pool2d_later(result, bottom[2 * i]);
        pooled[i] = cse_pool2d_later(result, bottom[2 * i + 1]);
    }
}

/* Each window's share goes to its first maximum; `gradient` has the rows of `values`, `size`
 * columns each. */
CSE_VECTOR_INLINE void give_to_maxima(const float *restrict values, float *restrict gradient,
                                      int64_t size, const float *restrict pooled, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float a = values[2 * i], b = values[2 * i + 1];
        const float c = values[size + 2 * i], d = values[size + 2 * i + 1];
        float largest = a;
        const bool takes_b = cse_pool2d_takes(largest, b);
        largest = takes_b ? b : largest;
        const bool takes_c = cse_pool2d_takes(largest, c);
        largest = takes_c ? c : largest;
        const bool takes_d = cse_pool2d_takes(largest, d);
        const float share = 0.0f + pooled[i];
        gradient[2 * i] = takes_b | takes_c | takes_d ? 0.0f : share;
        gradient[2 * i + 1] = takes_b & !takes_c & !takes_d ? share : 0.0f;
        gradient[size + 2 * i] = takes_c & !takes_d ? share : 0.0f;
        gradient[size + 2 * i + 1] = takes_d ? share : 0.0f;
    }
}

CSE_VECTOR_CLONES(void, pool_row,
                  (const float *top, const float *bottom, float *pooled, int64_t count),
                  (top, bottom, pooled, count))
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        take_maxima(top + 2 * i, bottom + 2 * i, pooled + i, BLOCK);
    take_maxima(top + 2 * i, bottom + 2 * i, pooled + i, count - i);
}

CSE_VECTOR_CLONES(void, pool_gradient_row,
                  (const float *values, float *gradient, int64_t size, const float *pooled,
                   int64_t count),
                  (values, gradient, size, pooled, count))
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        give_to_maxima(values + 2 * i, gradient + 2 * i, size, pooled + i, BLOCK);
    give_to_maxima(values + 2 * i, gradient + 2 * i, size, pooled + i, count - i);
}

static void run(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    const int64_t size = kernel->sizes[1], count = kernel->pooled[1];
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const float *values = plane->values + 2 * row * size;
        float *pooled = plane->pooled + row * count;
        if (!kernel->gradient) {
            pool_row(values, values + size, pooled, count);
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
