/* Types for which there is no kernel: 16-bit operands are widened to float32 (exactly), the float32
 * kernel runs, a 16-bit result is rounded once, to nearest even. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/kernels/convert.h"
#include "engine/kernels/plan.h"

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

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    widened_kernel *kernel = (widened_kernel *)base;
    for (int i = 0; i < kernel->operand_count; i++) {
        const uint16_t *bits = inputs[kernel->operands[i]];
        if (kernel->operand_dtypes[i] == CSE_FLOAT32) {
            kernel->inputs[kernel->operands[i]] = bits;
            continue;
        }
        cse_widen(kernel->operand_dtypes[i], bits, kernel->values[i], kernel->operand_elements[i]);
        kernel->inputs[kernel->operands[i]] = kernel->values[i];
    }
    if (kernel->bias >= 0)
        kernel->inputs[kernel->bias] = inputs[kernel->bias];
    if (kernel->dtype == CSE_FLOAT32) {
        kernel->inner->run(kernel->inner, kernel->inputs, output);
        return;
    }
    kernel->inner->run(kernel->inner, kernel->inputs, kernel->result);
    cse_narrow(kernel->dtype, kernel->result, output, kernel->output_elements);
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
    wide.dtype = wide.operand_dtypes[0] = wide.operand_dtypes[1] = CSE_FLOAT32;
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
