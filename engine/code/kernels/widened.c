/* Types for which there is no kernel: 16-bit operands are widened to float32 (exactly), the float32
 * kernel runs, a 16-bit result is rounded once, to nearest even. The float32 values lie in scratch
 * memory that all such kernels of an executable share, apart from that of the kernels they call. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/convert.h"
#include "engine/code/kernels/plan.h"
#include "engine/code/kernels/scratch.h"

typedef struct widened_kernel {
    cse_kernel base;
    cse_kernel *inner;
    cse_dtype dtype, operand_dtypes[2]; /* of the result, of the operands */
    int operand_count, operands[2];
    int bias; /* float32; -1: none */
    int64_t operand_elements[2], output_elements;
    cse_scratch *scratch;
    size_t places[3]; /* in the scratch: of the operands' values and of the result's */
    const void *inputs[CSE_MAX_INPUTS];
} widened_kernel;

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    widened_kernel *kernel = (widened_kernel *)base;
    char *scratch = cse_scratch_view(kernel->scratch);
    kernel->inner->team = base->team;
    for (int i = 0; i < kernel->operand_count; i++) {
        const uint16_t *bits = inputs[kernel->operands[i]];
        if (kernel->operand_dtypes[i] == CSE_FLOAT32) {
            kernel->inputs[kernel->operands[i]] = bits;
            continue;
        }
        float *values = (float *)(void *)(scratch + kernel->places[i]);
        cse_widen(kernel->operand_dtypes[i], bits, values, kernel->operand_elements[i]);
        kernel->inputs[kernel->operands[i]] = values;
    }
    if (kernel->bias >= 0)
        kernel->inputs[kernel->bias] = inputs[kernel->bias];
    if (kernel->dtype == CSE_FLOAT32) {
        kernel->inner->run(kernel->inner, kernel->inputs, output);
        return;
    }
    float *result = (float *)(void *)(scratch + kernel->places[2]);
    kernel->inner->run(kernel->inner, kernel->inputs, result);
    cse_narrow(kernel->dtype, result, output, kernel->output_elements);
}

void cse_kernel_destroy(cse_kernel **kernel)
{
    if (*kernel != NULL)
        (*kernel)->destroy(*kernel);
    *kernel = NULL;
}

static void destroy(cse_kernel *base)
{
    widened_kernel *kernel = (widened_kernel *)base;
    cse_kernel_destroy(&kernel->inner);
    cse_scratch_release(&kernel->scratch);
    free(kernel);
}

/* Bytes of float32 values, rounded up to a multiple of 64. */
static size_t bytes_of(int64_t elements)
{
    return ((size_t)elements * sizeof(float) + 63) / 64 * 64;
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
                  .order = inner->order,
                  .flops = inner->flops },
        .inner = inner,
        .dtype = plan->dtype,
        .bias = plan->bias,
        .operand_count = plan->product->input_count,
        .output_elements = cse_shape_elements(plan->product->shape),
    };
    size_t bytes = 0;
    for (int i = 0; i < kernel->operand_count; i++) {
        kernel->operands[i] = plan->operands[i];
        kernel->operand_dtypes[i] = plan->operand_dtypes[i];
        kernel->operand_elements[i] = cse_shape_elements(plan->product->inputs[i]->shape);
        kernel->places[i] = bytes;
        if (plan->operand_dtypes[i] != CSE_FLOAT32)
            bytes += bytes_of(kernel->operand_elements[i]);
    }
    kernel->places[2] = bytes;
    if (plan->dtype != CSE_FLOAT32)
        bytes += bytes_of(kernel->output_elements);
    /* An owner other than the graph, so that the float32 kernel has its own scratch memory. */
    kernel->scratch = cse_scratch_share((const char *)plan->graph + 1, bytes);
    *result = &kernel->base;
    return CSE_OK;
}
