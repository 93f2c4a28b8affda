/* Pooling and its gradients: what the kernels have in common, and the ways to compute them.
 *
 * All ways give the same bits:
 *
 *   a maximum         is the first of its equals in row-major order, and a NaN is the largest of
 *                     all: the last NaN of the window
 *   its gradient      goes to the first maximum, or to the first NaN
 *   an average        is one chain of sums over the window's elements in row-major order, divided
 *                     once; padding is not among them
 *   a gradient's sum  starts from 0 and adds the windows in their order */
#ifndef CSE_KERNELS_POOL2D_H
#define CSE_KERNELS_POOL2D_H

#include <math.h>

#include "engine/code/kernels/plan.h"

typedef struct cse_pool2d cse_pool2d;

/* One plane (an image's channel): `values` of the input, `pooled` the result or the result's
 * gradient, `gradient` the input's gradient or NULL; `place` is the scratch. */
typedef struct cse_pool2d_plane {
    const float *values;
    float *pooled, *gradient;
    char *place;
} cse_pool2d_plane;

typedef struct cse_pool2d_way {
    const char *name; /* for reports and CSE_POOL2D */
    bool (*fits)(const cse_pool2d *kernel);
    size_t (*scratch_bytes)(const cse_pool2d *kernel); /* NULL: none */
    void (*run)(const cse_pool2d *kernel, const cse_pool2d_plane *plane);
} cse_pool2d_way;

extern const cse_pool2d_way cse_pool2d_pairs_avx512, cse_pool2d_pairs, cse_pool2d_rows,
    cse_pool2d_windows;

struct cse_pool2d {
    cse_kernel base;
    const cse_pool2d_way *way;
    int operands[2];
    int64_t planes;
    int64_t sizes[2], pooled[2]; /* rows and columns of a plane before and after pooling */
    int64_t kernel[2], stride[2], padding[2];
    bool maximum, gradient, count_padding;
    struct cse_scratch *scratch;
};

/* The rows (axis 0) or columns (axis 1) [first, end) of the plane that the windows at `position` of
 * that axis cover. */
typedef struct cse_pool2d_span {
    int64_t first, end;
} cse_pool2d_span;

static inline cse_pool2d_span cse_pool2d_span_of(const cse_pool2d *kernel, int axis,
                                                 int64_t position)
{
    const int64_t first = position * kernel->stride[axis] - kernel->padding[axis];
    const int64_t end = first + kernel->kernel[axis];
    return (cse_pool2d_span){ first > 0 ? first : 0,
                              end < kernel->sizes[axis] ? end : kernel->sizes[axis] };
}

/* Whether the windows are 2 x 2 with stride 2 and no padding, and their maxima wanted. */
bool cse_pool2d_is_in_pairs(const cse_pool2d *kernel);

/* x when it is larger or NaN. */
static inline __attribute__((always_inline)) float cse_pool2d_later(float result, float x)
{
    return (x > result) | (x != x) ? x : result;
}

/* Whether x is the first maximum among it and what came before it. */
static inline __attribute__((always_inline)) bool cse_pool2d_takes(float largest, float x)
{
    return (x > largest) | ((x != x) & (largest == largest));
}

#endif
