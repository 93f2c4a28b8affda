/* Products with a size of 0; see empty.h. */
#include "engine/code/kernels/empty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

typedef struct empty_kernel {
    cse_kernel base;
    int bias; /* -1: none */
    bool relu;
    int64_t rows, columns;
    size_t element_bytes;
} empty_kernel;

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const empty_kernel *kernel = (const empty_kernel *)base;
    size_t row_bytes = (size_t)kernel->columns * kernel->element_bytes;
    for (int64_t row = 0; row < kernel->rows; row++) {
        float *to = (float *)(void *)((char *)output + (size_t)row * row_bytes);
        if (kernel->bias < 0) {
            memset(to, 0, row_bytes);
            continue;
        }
        memcpy(to, inputs[kernel->bias], row_bytes);
        for (int64_t i = 0; kernel->relu && i < kernel->columns; i++)
            to[i] = to[i] < 0 ? 0 : to[i];
    }
}

static void destroy(cse_kernel *base)
{
    free(base);
}

cse_kernel *cse_kernel_new_empty(const cse_kernel_plan *plan, int64_t rows, int64_t columns)
{
    empty_kernel *kernel = cse_calloc(1, sizeof *kernel);
    assert(plan->bias < 0 || plan->dtype == CSE_FLOAT32);
    *kernel = (empty_kernel){
        .base = { .run = run, .destroy = destroy, .implementation = "empty" },
        .bias = plan->bias,
        .relu = plan->relu,
        .rows = columns > 0 ? rows : 0,
        .columns = columns,
        .element_bytes = cse_dtype_size(plan->dtype),
    };
    return &kernel->base;
}
