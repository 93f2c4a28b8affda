/* Types for which there is no kernel: 16-bit operands are widened to float32 (exactly), the float32
 * kernel runs, a 16-bit result is rounded once, to nearest even. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/kernels/plan.h"
#include "engine/types/dtype.h"

typedef struct widened_kernel {
    cse_kernel base;
    cse_kernel *inner;
    cse_dtype dtype, operand_dtypes[2]; /* of the result, of the operands */
    int operand_count, operands[2];
    int bias; /* float32; -1: none */
    int64_t operand_elements[2], output_elements;
    float *values[2], *result;
    const void *inputs[CSE_MAX_INPUTS];
} widened_kernel;

static void widen(cse_dtype dtype, const uint16_t *bits, float *values, int64_t count)
{
    if (dtype == CSE_BFLOAT16)
        for (int64_t i = 0; i < count; i++)
            values[i] = cse_float_from_bfloat16(bits[i]);
    else
        for (int64_t i = 0; i < count; i++)
            values[i] = cse_float_from_format(dtype, bits[i]);
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    widened_kernel *kernel = (widened_kernel *)base;
    for (int i = 0; i < kernel->operand_count; i++) {
        const uint16_t *bits = inputs[kernel->operands[i]];
        if (kernel->operand_dtypes[i] == CSE_FLOAT32) {
            kernel->inputs[kernel->operands[i]] = bits;
            continue;
        }
        widen(kernel->operand_dtypes[i], bits, kernel->values[i], kernel->operand_elements[i]);
        kernel->inputs[kernel->operands[i]] = kernel->values[i];
    }
    if (kernel->bias >= 0)
        kernel->inputs[kernel->bias] = inputs[kernel->bias];
    if (kernel->dtype == CSE_FLOAT32) {
        kernel->inner->run(kernel->inner, kernel->inputs, output);
        return;
    }
    kernel->inner->run(kernel->inner, kernel->inputs, kernel->result);
    uint16_t *rounded = output;
    for (int64_t e = 0; e < kernel->output_elements; e++)
        rounded[e] = cse_round_to_bits(kernel->dtype, kernel->result[e]);
}

static void destroy(cse_kernel *base)
{
    widened_kernel *kernel = (widened_kernel *)base;
    cse_kernel_destroy(&kernel->inner);
    free(kernel->values[0]);
    free(kernel->values[1]);
    free(kernel->result);
    free(kernel);
}

cse_status cse_kernel_new_widened(const cse_kernel_plan *plan, cse_kernel_maker *maker,
                                  cse_kernel **result)
{
    cse_kernel_plan wide = *plan;
    cse_kernel *inner;
    wide.dtype = CSE_FLOAT32;
    CSE_TRY(maker(&wide, &inner));
    widened_kernel *kernel = cse_calloc(1, sizeof *kernel);
    *kernel = (widened_kernel){
        .base = { .run = run,
                  .destroy = destroy,
                  .implementation = inner->implementation,
                  .flops = inner->flops },
        .inner = inner,
        .dtype = plan->dtype,
        .bias = plan->bias,
        .operand_count = plan->product->input_count,
        .output_elements = cse_shape_elements(plan->product->shape),
    };
    for (int i = 0; i < kernel->operand_count; i++) {
        kernel->operands[i] = plan->operands[i];
        kernel->operand_dtypes[i] = plan->product->inputs[i]->dtype;
        kernel->operand_elements[i] = cse_shape_elements(plan->product->inputs[i]->shape);
        kernel->values[i] =
            cse_aligned_calloc((size_t)kernel->operand_elements[i] * sizeof(float) + 64);
    }
    kernel->result = cse_aligned_calloc((size_t)kernel->output_elements * sizeof(float) + 64);
    *result = &kernel->base;
    return CSE_OK;
}
