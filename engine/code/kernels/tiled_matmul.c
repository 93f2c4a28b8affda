/* Matrix products whose accumulation is emulated: the tiled product for each index of the leading
 * axes, then bias and relu in float32, then one rounding where the result is in 16 bits. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/matmul_sizes.h"
#include "engine/code/kernels/tiled.h"

typedef struct tiled_matmul {
    cse_kernel base;
    const cse_node *product;
    cse_matmul_sizes sizes;
    cse_dtype dtype; /* of the result */
    int operands[2], bias;
    bool relu;
    cse_tiled *tiled;
    float *sums; /* one product's, where the result is in 16 bits */
} tiled_matmul;

static void finish_rows(const tiled_matmul *kernel, const float *bias, float *sums)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    for (int64_t row = 0; row < s->m; row++)
        for (int64_t i = 0; i < s->n; i++) {
            float *sum = sums + row * s->n + i;
            if (bias != NULL)
                *sum += bias[i];
            if (kernel->relu)
                *sum = *sum < 0 ? 0 : *sum;
        }
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const tiled_matmul *kernel = (const tiled_matmul *)base;
    const cse_matmul_sizes *s = &kernel->sizes;
    const float *bias = kernel->bias >= 0 ? inputs[kernel->bias] : NULL;
    cse_tiled_operand operands[2] = {
        { inputs[kernel->operands[0]], s->transpose_a ? 1 : s->k, s->transpose_a ? s->m : 1 },
        { inputs[kernel->operands[1]], s->transpose_b ? s->k : 1, s->transpose_b ? 1 : s->n },
    };
    int64_t made = s->m * s->n;
    bool wide = kernel->dtype == CSE_FLOAT32;
    for (int64_t batch = 0; batch < s->batches; batch++) {
        float *sums = wide ? (float *)output + batch * made : kernel->sums;
        uint16_t *rounded = wide ? NULL : (uint16_t *)output + batch * made;
        const cse_tiled_place place = { cse_tiled_sample(kernel->product, base),
                                        (uint32_t)(batch * made) };
        cse_tiled_run(kernel->tiled, base, operands, place, sums);
        if (bias != NULL || kernel->relu)
            finish_rows(kernel, bias, sums);
        for (int64_t i = 0; !wide && i < made; i++)
            rounded[i] = cse_store_format(kernel->dtype, sums[i]);
        operands[0].values += s->m * s->k;
        operands[1].values += s->k * s->n;
    }
}

static void destroy(cse_kernel *base)
{
    tiled_matmul *kernel = (tiled_matmul *)base;
    cse_tiled_destroy(&kernel->tiled);
    free(kernel->sums);
    free(kernel);
}

cse_status cse_kernel_new_tiled_matmul(const cse_kernel_plan *plan, cse_kernel **result)
{
    const cse_matmul_sizes sizes = cse_matmul_sizes_of(plan->product);
    tiled_matmul *kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (tiled_matmul){
        .base = { .run = run,
                  .destroy = destroy,
                  .implementation = "tiled",
                  .flops = cse_matmul_flops(&sizes) },
        .product = plan->product,
        .sizes = sizes,
        .dtype = plan->dtype,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .relu = plan->relu,
        .tiled = cse_tiled_new(plan->product, (cse_tiled_sizes){ sizes.m, sizes.n, sizes.k }),
    };
    if (plan->dtype != CSE_FLOAT32)
        kernel->sums = cse_aligned_calloc((size_t)(sizes.m * sizes.n + 1) * sizeof(float));
    *result = &kernel->base;
    return CSE_OK;
}
