/* Makes the kernels of pooling: reads the sizes and chooses the way (pool2d.h) by them. */
#include "engine/code/kernels/pool2d.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/scratch.h"
#include "engine/graph/trace/windows.h"

/* The fastest first; the last one fits all. */
static const cse_pool2d_way *const ways[] = { &cse_pool2d_pairs_avx512, &cse_pool2d_pairs,
                                              &cse_pool2d_rows, &cse_pool2d_windows };

/* For tests and comparisons CSE_POOL2D in the environment selects a way where it fits. */
static const cse_pool2d_way *choose_way(const cse_pool2d *kernel)
{
    const int count = (int)(sizeof ways / sizeof ways[0]);
    const char *wanted = getenv("CSE_POOL2D");
    for (int i = 0; wanted != NULL && i < count; i++)
        if (strcmp(ways[i]->name, wanted) == 0 && ways[i]->fits(kernel))
            return ways[i];
    int way = 0;
    while (!ways[way]->fits(kernel))
        way++;
    return ways[way];
}

/* Pooled planes that are only read are passed through the same pointers as written ones. */
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
    const cse_pool2d *kernel = (const cse_pool2d *)base;
    const int64_t size = kernel->sizes[0] * kernel->sizes[1];
    const int64_t pooled_size = kernel->pooled[0] * kernel->pooled[1];
    const bool gradient = kernel->gradient;
    if (gradient && size == 0)
        return;
    cse_pool2d_plane plane = {
        .values = inputs[kernel->operands[0]],
        .pooled = gradient ? readable(inputs[kernel->operands[1]]) : output,
        .gradient = gradient ? output : NULL,
        .place = kernel->scratch ? cse_scratch_view(kernel->scratch) : NULL,
    };
    for (int64_t p = 0; p < kernel->planes; p++) {
        kernel->way->run(kernel, &plane);
        plane.values += size;
        plane.pooled += pooled_size;
        if (gradient)
            plane.gradient += size;
    }
}

static void destroy(cse_kernel *base)
{
    cse_pool2d *kernel = (cse_pool2d *)base;
    cse_scratch_release(&kernel->scratch);
    free(kernel);
}

static cse_status new_pool(const cse_kernel_plan *plan, bool maximum, cse_kernel **result)
{
    const cse_node *node = plan->product;
    const int64_t *integers = node->attributes.integers;
    bool gradient = node->input_count == 2;
    cse_shape input = node->inputs[0]->shape;
    cse_shape pooled = gradient ? node->inputs[1]->shape : node->shape;
    cse_pool2d *kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (cse_pool2d){
        .base = { .run = run, .destroy = destroy },
        .operands = { plan->operands[0], plan->operands[1] },
        .planes = input.dims[0] * input.dims[1],
        .maximum = maximum,
        .gradient = gradient,
        .count_padding = integers[CSE_POOL_COUNT_PADDING] != 0,
    };
    for (int i = 0; i < 2; i++) {
        kernel->sizes[i] = input.dims[2 + i];
        kernel->pooled[i] = pooled.dims[2 + i];
        kernel->kernel[i] = integers[CSE_POOL_KERNEL + i];
        kernel->stride[i] = integers[CSE_WINDOW_STRIDE + i];
        kernel->padding[i] = integers[CSE_WINDOW_PADDING + i];
    }
    kernel->way = choose_way(kernel);
    kernel->base.implementation = kernel->way->name;
    if (kernel->way->scratch_bytes != NULL)
        kernel->scratch = cse_scratch_share(plan->graph, kernel->way->scratch_bytes(kernel));
    *result = &kernel->base;
    return CSE_OK;
}

cse_status cse_kernel_new_max_pool2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, true, kernel);
}

cse_status cse_kernel_new_max_pool2d_gradient(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, true, kernel);
}

cse_status cse_kernel_new_avg_pool2d(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, false, kernel);
}

cse_status cse_kernel_new_avg_pool2d_gradient(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    return new_pool(plan, false, kernel);
}
