/* Pooling and its gradients: plain loops over the windows of one plane after another.
 *
 * A maximum is the first of its equals in row-major order, and a NaN is the largest of all; the
 * gradient finds the maximum again by the same rule. Gradients of overlapping windows are added in
 * the windows' order. The most common window, 2 x 2 with stride 2, has loops of its own without
 * data-dependent branches, which would often be mispredicted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/kernels/plan.h"
#include "engine/trace/windows.h"

typedef struct pool_kernel pool_kernel;

/* One window: rows [first[0], end[0]) and columns [first[1], end[1]) of the plane. */
typedef struct window {
    int64_t first[2], end[2];
} window;

/* What is done with a window: `plane` is the input's plane, or that of its gradient; `values` the
 * input's where both are needed; `element` the window's element of the pooled plane. */
typedef void visit_window(const pool_kernel *kernel, const window *at, float *plane,
                          const float *values, float *element);

struct pool_kernel {
    cse_kernel base;
    int operands[2];
    int64_t planes;
    int64_t sizes[2], pooled[2]; /* rows and columns of a plane before and after pooling */
    int64_t kernel[2], stride[2], padding[2];
    bool count_padding, gradient, pairs;
    visit_window *visit;
};

static void take_maximum(const pool_kernel *kernel, const window *at, float *plane,
                         const float *values, float *element)
{
    float result = -INFINITY;
    (void)values;
    for (int64_t row = at->first[0]; row < at->end[0]; row++)
        for (int64_t column = at->first[1]; column < at->end[1]; column++) {
            float x = plane[row * kernel->sizes[1] + column];
            result = x > result || x != x ? x : result;
        }
    *element = result;
}

static void give_to_maximum(const pool_kernel *kernel, const window *at, float *plane,
                            const float *values, float *element)
{
    float largest = -INFINITY;
    int64_t best = at->first[0] * kernel->sizes[1] + at->first[1];
    for (int64_t row = at->first[0]; row < at->end[0]; row++)
        for (int64_t column = at->first[1]; column < at->end[1]; column++) {
            int64_t here = row * kernel->sizes[1] + column;
            float x = values[here];
            if (x > largest || (x != x && largest == largest)) {
                largest = x;
                best = here;
            }
        }
    plane[best] += *element;
}

/* x when it is larger or NaN. */
static inline float later_maximum(float result, float x)
{
    return (x > result) | (x != x) ? x : result;
}

/* One row of 2 x 2 windows over the rows `top` and `bottom`. */
static void take_maxima_of_pairs(const float *top, const float *bottom, float *pooled,
                                 int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float result = later_maximum(-INFINITY, top[2 * i]);
        result = later_maximum(result, top[2 * i + 1]);
        result = later_maximum(result, bottom[2 * i]);
        pooled[i] = later_maximum(result, bottom[2 * i + 1]);
    }
}

/* The same for the gradient: each window's element goes to its first maximum; `plane` has the rows
 * of `values`, `size` columns each. */
static void give_to_maxima_of_pairs(const float *values, float *plane, int64_t size,
                                    const float *pooled, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float x[4] = { values[2 * i], values[2 * i + 1], values[size + 2 * i],
                             values[size + 2 * i + 1] };
        float largest = -INFINITY;
        int best = 0;
        for (int k = 0; k < 4; k++) {
            bool takes = (x[k] > largest) | ((x[k] != x[k]) & (largest == largest));
            largest = takes ? x[k] : largest;
            best = takes ? k : best;
        }
        const float share = 0.0f + pooled[i];
        plane[2 * i] = best == 0 ? share : 0.0f;
        plane[2 * i + 1] = best == 1 ? share : 0.0f;
        plane[size + 2 * i] = best == 2 ? share : 0.0f;
        plane[size + 2 * i + 1] = best == 3 ? share : 0.0f;
    }
}

static bool is_in_pairs(const pool_kernel *kernel)
{
    bool pairs = kernel->visit == take_maximum || kernel->visit == give_to_maximum;
    for (int axis = 0; axis < 2; axis++)
        pairs = pairs && kernel->kernel[axis] == 2 && kernel->stride[axis] == 2 &&
                kernel->padding[axis] == 0;
    return pairs;
}

static void visit_pairs(const pool_kernel *kernel, float *plane, const float *values, float *pooled)
{
    const int64_t size = kernel->sizes[1], count = kernel->pooled[1];
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        const int64_t at = 2 * row * size;
        if (kernel->gradient)
            give_to_maxima_of_pairs(values + at, plane + at, size, pooled + row * count, count);
        else
            take_maxima_of_pairs(plane + at, plane + at + size, pooled + row * count, count);
    }
}

/* What an average is divided by. */
static float divisor_of(const pool_kernel *kernel, const window *at)
{
    int64_t there = (at->end[0] - at->first[0]) * (at->end[1] - at->first[1]);
    return (float)(kernel->count_padding ? kernel->kernel[0] * kernel->kernel[1] : there);
}

static void take_average(const pool_kernel *kernel, const window *at, float *plane,
                         const float *values, float *element)
{
    float sum = 0;
    (void)values;
    for (int64_t row = at->first[0]; row < at->end[0]; row++)
        for (int64_t column = at->first[1]; column < at->end[1]; column++)
            sum += plane[row * kernel->sizes[1] + column];
    *element = sum / divisor_of(kernel, at);
}

static void give_share(const pool_kernel *kernel, const window *at, float *plane,
                       const float *values, float *element)
{
    float share = *element / divisor_of(kernel, at);
    (void)values;
    for (int64_t row = at->first[0]; row < at->end[0]; row++)
        for (int64_t column = at->first[1]; column < at->end[1]; column++)
            plane[row * kernel->sizes[1] + column] += share;
}

static void bound_window(const pool_kernel *kernel, int axis, int64_t position, window *at)
{
    int64_t first = position * kernel->stride[axis] - kernel->padding[axis];
    int64_t end = first + kernel->kernel[axis];
    at->first[axis] = first > 0 ? first : 0;
    at->end[axis] = end < kernel->sizes[axis] ? end : kernel->sizes[axis];
}

static void visit_plane(const pool_kernel *kernel, float *plane, const float *values, float *pooled)
{
    window at;
    for (int64_t row = 0; row < kernel->pooled[0]; row++) {
        bound_window(kernel, 0, row, &at);
        for (int64_t column = 0; column < kernel->pooled[1]; column++) {
            bound_window(kernel, 1, column, &at);
            kernel->visit(kernel, &at, plane, values, pooled + row * kernel->pooled[1] + column);
        }
    }
}

/* Casts const away: planes that are only read are passed through the same pointers as written ones.
 */
static float *readable(const void *values)
{
    union {
        const void *constant;
        float *plain;
    } place = { values };
    return place.plain;
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const pool_kernel *kernel = (const pool_kernel *)base;
    int64_t size = kernel->sizes[0] * kernel->sizes[1];
    int64_t pooled_size = kernel->pooled[0] * kernel->pooled[1];
    const float *values = inputs[kernel->operands[0]];
    float *plane = kernel->gradient ? output : readable(values);
    float *pooled = kernel->gradient ? readable(inputs[kernel->operands[1]]) : output;
    if (kernel->gradient && kernel->planes * size > 0)
        memset(output, 0, (size_t)(kernel->planes * size) * sizeof(float));
    for (int64_t p = 0; p < kernel->planes; p++)
        (kernel->pairs ? visit_pairs : visit_plane)(kernel, plane + p * size, values + p * size,
                                                    pooled + p * pooled_size);
}

static void destroy(cse_kernel *base)
{
    free(base);
}

static cse_status new_pool(const cse_kernel_plan *plan, visit_window *visit, cse_kernel **result)
{
    const cse_node *node = plan->product;
    const int64_t *integers = node->attributes.integers;
    bool gradient = node->input_count == 2;
    cse_shape input = node->inputs[0]->shape;
    cse_shape pooled = gradient ? node->inputs[1]->shape : node->shape;
    pool_kernel *kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (pool_kernel){
        .base = { .run = run, .destroy = destroy, .implementation = "loops" },
        .operands = { plan->operands[0], plan->operands[1] },
        .planes = input.dims[0] * input.dims[1],
        .count_padding = integers[CSE_POOL_COUNT_PADDING] != 0,
        .gradient = gradient,
        .visit = visit,
    };
    for (int i = 0; i < 2; i++) {
        kernel->sizes[i] = input.dims[2 + i];
        kernel->pooled[i] = pooled.dims[2 + i];
        kernel->kernel[i] = integers[CSE_POOL_KERNEL + i];
        kernel->stride[i] = integers[CSE_WINDOW_STRIDE + i];
        kernel->padding[i] = integers[CSE_WINDOW_PADDING + i];
    }
    kernel->pairs = is_in_pairs(kernel);
    *result = &kernel->base;
    return CSE_OK;
}

cse_status cse_kernel_new_max_pool2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, take_maximum, kernel);
}

cse_status cse_kernel_new_max_pool2d_gradient(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, give_to_maximum, kernel);
}

cse_status cse_kernel_new_avg_pool2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, take_average, kernel);
}

cse_status cse_kernel_new_avg_pool2d_gradient(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, give_share, kernel);
}
