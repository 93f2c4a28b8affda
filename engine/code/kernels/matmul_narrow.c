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

/* ---- the kernel ---- */

/* Products of a piece that a thread takes, and the columns of a panel of any implementation. */
enum { PIECE_PRODUCTS = 1 << 15, COLUMNS_UNIT = 64 };

/* A run that is divided. */
typedef struct divided_run {
    const cse_narrow_kernel *kernel;
    const void *const *inputs;
    void *output;
} divided_run;

/* The product of matrices `batch`, columns [first, first + part->sizes.n) of its result. `place`:
 * scratch of part->way. */
static void multiply_part(const divided_run *r, const cse_narrow_kernel *part, int64_t batch,
                          int64_t first, void *place)
{
    const cse_narrow_kernel *kernel = r->kernel;
    const cse_matmul_sizes *s = &kernel->sizes;
    const void *bias = kernel->bias >= 0 ? r->inputs[kernel->bias] : NULL;
    const bool narrow = kernel->narrow_bias;
    const int64_t a = batch * s->m * s->k,
                  b = batch * s->n * s->k + first * (s->transpose_b ? s->k : 1),
                  c = batch * s->m * s->n + first;
    const cse_matmul_side sides[2] = {
        { kernel->dtypes[0],
          (const char *)r->inputs[kernel->operands[0]] +
              (size_t)a * cse_dtype_size(kernel->dtypes[0]),
          s->transpose_a ? 1 : s->k, s->transpose_a ? s->m : 1, s->m },
        { kernel->dtypes[1],
          (const char *)r->inputs[kernel->operands[1]] +
              (size_t)b * cse_dtype_size(kernel->dtypes[1]),
          s->transpose_b ? s->k : 1, s->transpose_b ? 1 : s->n, part->sizes.n },
    };
    const cse_matmul_end end = { kernel->result,
                                 (char *)r->output + (size_t)c * cse_dtype_size(kernel->result),
                                 s->n,
                                 bias != NULL && !narrow ? (const float *)bias + first : NULL,
                                 kernel->relu,
                                 kernel->continues,
                                 narrow ? (const uint16_t *)bias + first : NULL };
    kernel->way->multiply(part, sides, &end, place);
}

static void *place_of(const cse_narrow_kernel *part, int member)
{
    return cse_thread_team_scratch(part->base.team, member, part->way->scratch_bytes(part));
}

static void run_columns(void *run, int member, int64_t first, int64_t end)
{
    const divided_run *r = run;
    cse_narrow_kernel part = *r->kernel;
    part.sizes.n = end - first;
    multiply_part(r, &part, 0, first, place_of(&part, member));
}

static void run_batches(void *run, int member, int64_t first, int64_t end)
{
    const divided_run *r = run;
    for (int64_t batch = first; batch < end; batch++)
        multiply_part(r, r->kernel, batch, 0, place_of(r->kernel, member));
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    const cse_narrow_kernel *kernel = (const cse_narrow_kernel *)base;
    const cse_matmul_sizes *s = &kernel->sizes;
    if (kernel->continues && inputs[kernel->continued] != output)
        memcpy(output, inputs[kernel->continued],
               (size_t)(s->batches * s->m * s->n) * sizeof(float));
    divided_run r = { kernel, inputs, output };
    const bool columns = s->batches == 1;
    const int64_t each = (columns ? 1 : s->n) * s->m * s->k;
    const int64_t unit = columns ? (PIECE_PRODUCTS / each / COLUMNS_UNIT + 1) * COLUMNS_UNIT
                                 : PIECE_PRODUCTS / each + 1;
    if (base->team != NULL && unit < (columns ? s->n : s->batches)) {
        const cse_team_job job = { columns ? run_columns : run_batches, &r,
                                   columns ? s->n : s->batches, unit };
        cse_thread_team_divide(base->team, &job);
        return;
    }
    for (int64_t batch = 0; batch < s->batches; batch++)
        multiply_part(&r, kernel, batch, 0, cse_scratch_view(kernel->scratch));
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
        .narrow_bias = plan->narrow_bias,
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
