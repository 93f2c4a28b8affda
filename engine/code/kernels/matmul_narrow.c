/* Our own products: the choice of an implementation, the loop over batches, and the epilogue of
 * each block of sums; see matmul_narrow.h. */
#include "engine/code/kernels/matmul_narrow.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/instruction_set.h"
#include "engine/base/log.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/product_order.h"

/* ---- the epilogue of a block ---- */

/* ---- the kernel ---- */

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const cse_narrow_kernel *kernel = (const cse_narrow_kernel *)base;
    const cse_matmul_sizes *s = &kernel->sizes;
    cse_matmul_side sides[2] = {
        { kernel->dtypes[0], inputs[kernel->operands[0]], s->transpose_a ? 1 : s->k,
          s->transpose_a ? s->m : 1, s->m },
        { kernel->dtypes[1], inputs[kernel->operands[1]], s->transpose_b ? s->k : 1,
          s->transpose_b ? 1 : s->n, s->n },
    };
    cse_matmul_end end = { kernel->result, output,
                           s->n,           kernel->bias >= 0 ? inputs[kernel->bias] : NULL,
                           kernel->relu,   kernel->continues };
    void *place = cse_scratch_view(kernel->scratch);
    if (end.continues && inputs[kernel->continued] != output)
        memcpy(output, inputs[kernel->continued],
               (size_t)(s->batches * s->m * s->n) * sizeof(float));
    for (int64_t batch = 0; batch < s->batches; batch++) {
        kernel->way->multiply(kernel, sides, &end, place);
        for (int i = 0; i < 2; i++)
            sides[i].values = (const char *)sides[i].values +
                              (size_t)(sides[i].size * s->k) * cse_dtype_size(sides[i].dtype);
        end.to = (char *)end.to + (size_t)(s->m * s->n) * cse_dtype_size(end.dtype);
    }
}

static void destroy(cse_kernel *base)
{
    cse_scratch_release(&((cse_narrow_kernel *)base)->scratch);
    free(base);
}

/* The fastest implementation of the order that runs here, from the requested one on. */
static const cse_narrow_way *choose(const char *wanted, cse_product_order order)
{
    static const cse_narrow_way *const ways[] = { &cse_narrow_amx,    &cse_narrow_dot,
                                                  &cse_narrow_packed, &cse_narrow_avx512,
                                                  &cse_narrow_avx2,   &cse_narrow_plain };
    enum { WAYS = sizeof ways / sizeof *ways };
    int first = 0;
    for (int i = 0; wanted != NULL && i < WAYS; i++)
        if (strcmp(wanted, ways[i]->name) == 0)
            first = i;
    while (first < WAYS - 1 &&
           (!ways[first]->runs_here() || (ways[first]->orders >> order & 1) == 0))
        first++;
    return ways[first];
}

/* Only products of two bfloat16 operands have a choice. */
static cse_product_order order_of(const cse_kernel_plan *plan)
{
    const cse_dtype *dtypes = plan->operand_dtypes;
    if (dtypes[0] != CSE_BFLOAT16 || dtypes[1] != CSE_BFLOAT16)
        return CSE_PRODUCT_ORDER_CHAIN;
    return plan->graph->product_order != CSE_PRODUCT_ORDER_OPEN
               ? plan->graph->product_order
               : cse_product_order_choose(plan->graph->portable);
}

/* Told once a process: it is far slower than what people expect of a processor. */
static void tell_plain(const cse_kernel_plan *plan)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char text[256];
    if (!atomic_flag_test_and_set(&told))
        cse_log_line(CSE_LOG_WARNING,
                     "%s: runs in plain C, about 80 times slower than with AVX2: this process may "
                     "use %s only",
                     cse_kernel_plan_text(plan, text, sizeof text),
                     cse_isa_name(cse_isa_of_host()));
}

void cse_matmul_narrow_prepare(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                               const char *wanted, cse_narrow_kernel *kernel)
{
    const cse_dtype *dtypes = plan->operand_dtypes;
    const cse_product_order order = order_of(plan);
    const cse_narrow_way *way = choose(wanted, order);
    if (way == &cse_narrow_plain && (wanted == NULL || strcmp(wanted, way->name) != 0))
        tell_plain(plan);
    *kernel = (cse_narrow_kernel){
        .base = { .run = run,
                  .destroy = destroy,
                  .implementation = way->name,
                  .order = cse_product_order_name(order),
                  .flops = cse_matmul_flops(sizes) },
        .way = way,
        .sizes = *sizes,
        .dtypes = { dtypes[0], dtypes[1] },
        .result = plan->dtype,
        .operands = { plan->operands[0], plan->operands[1] },
        .bias = plan->bias,
        .continued = plan->operands[2],
        .continues = plan->continues,
        .relu = plan->relu,
        .order = order,
    };
}

cse_kernel *cse_matmul_narrow_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                                  const char *wanted)
{
    cse_narrow_kernel *kernel = cse_calloc(1, sizeof *kernel);
    assert(sizes->batches * sizes->m * sizes->n > 0 && sizes->k > 0);
    cse_matmul_narrow_prepare(plan, sizes, wanted, kernel);
    kernel->scratch = cse_scratch_share(plan->graph, kernel->way->scratch_bytes(kernel));
    return &kernel->base;
}
