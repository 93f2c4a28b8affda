/* Pooling by plain loops over one window after another: for windows and planes of any size. */
#include <string.h>

#include "engine/code/kernels/pool2d.h"

/* One window's rows and columns of the plane. */
typedef struct window {
    cse_pool2d_span rows, columns;
} window;

static float maximum_of(const cse_pool2d *kernel, const window *at, const float *values)
{
    float result = -INFINITY;
    for (int64_t row = at->rows.first; row < at->rows.end; row++)
        for (int64_t column = at->columns.first; column < at->columns.end; column++)
            result = cse_pool2d_later(result, values[row * kernel->sizes[1] + column]);
    return result;
}

static void give_to_maximum(const cse_pool2d *kernel, const window *at, const float *values,
                            float *gradient, float share)
{
    float largest = -INFINITY;
    int64_t best = at->rows.first * kernel->sizes[1] + at->columns.first;
    for (int64_t row = at->rows.first; row < at->rows.end; row++)
        for (int64_t column = at->columns.first; column < at->columns.end; column++) {
            const int64_t here = row * kernel->sizes[1] + column;
            if (cse_pool2d_takes(largest, values[here])) {
                largest = values[here];
                best = here;
            }
        }
    gradient[best] += share;
}

/* What an average is divided by. */
static float divisor_of(const cse_pool2d *kernel, const window *at)
{
    const int64_t there = (at->rows.end - at->rows.first) * (at->columns.end - at->columns.first);
    return (float)(kernel->count_padding ? kernel->kernel[0] * kernel->kernel[1] : there);
}

static float average_of(const cse_pool2d *kernel, const window *at, const float *values)
{
    float sum = 0;
    for (int64_t row = at->rows.first; row < at->rows.end; row++)
        for (int64_t column = at->columns.first; column < at->columns.end; column++)
            sum += values[row * kernel->sizes[1] + column];
    return sum / divisor_of(kernel, at);
}

static void give_to_all(const cse_pool2d *kernel, const window *at, float *gradient, float element)
{
    const float share = element / divisor_of(kernel, at);
    for (int64_t row = at->rows.first; row < at->rows.end; row++)
        for (int64_t column = at->columns.first; column < at->columns.end; column++)
            gradient[row * kernel->sizes[1] + column] += share;
}

static void visit(const cse_pool2d *kernel, const window *at, const cse_pool2d_plane *plane,
                  float *element)
{
    if (!kernel->gradient)
        *element = kernel->maximum ? maximum_of(kernel, at, plane->values)
                                   : average_of(kernel, at, plane->values);
    else if (kernel->maximum)
        give_to_maximum(kernel, at, plane->values, plane->gradient, *element);
    else
        give_to_all(kernel, at, plane->gradient, *element);
}

static void run(const cse_pool2d *kernel, const cse_pool2d_plane *plane)
{
    if (kernel->gradient)
        memset(plane->gradient, 0,
               (size_t)(kernel->sizes[0] * kernel->sizes[1]) * sizeof *plane->gradient);
    for (int64_t row = 0; row < kernel->pooled[0]; row++)
        for (int64_t column = 0; column < kernel->pooled[1]; column++) {
            const window at = { cse_pool2d_span_of(kernel, 0, row),
                                cse_pool2d_span_of(kernel, 1, column) };
            visit(kernel, &at, plane, plane->pooled + row * kernel->pooled[1] + column);
        }
}

static bool fits(const cse_pool2d *kernel)
{
    (void)kernel;
    return true;
}

const cse_pool2d_way cse_pool2d_windows = { .name = "windows", .fits = fits, .run = run };
