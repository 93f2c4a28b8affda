/* Matrix products.
 *
 * [..., m, k] x [..., k, n]: the leading axes are one batch axis, and strides express
 * transposition. They run on our own kernels (matmul_narrow.h says which), but float32 on oneDNN
 * where the machine has not even AVX2. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"
#include "engine/code/kernels/dnnl.h"
#include "engine/code/kernels/empty.h"
#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/product_order.h"

/* ---- oneDNN ---- */

/* [batches, rows, columns], stored transposed or not; without the batch axis when there is one
 * matrix, because oneDNN has more kernels for that. */
static dnnl_status_t describe_matrix(dnnl_memory_desc_t *matrix, const cse_kernel_plan *plan,
                                     const int64_t sizes[3], bool transposed)
{
    const int64_t strides[3] = { sizes[1] * sizes[2], transposed ? 1 : sizes[2],
                                 transposed ? sizes[1] : 1 };
    const cse_shape whole = plan->product->shape;
    bool single =
        cse_shape_elements(whole) == whole.dims[whole.rank - 2] * whole.dims[whole.rank - 1];
    dnnl_dims_t kept_sizes = { 0 }, kept_strides = { 0 };
    int rank = 0;
    for (int i = single ? 1 : 0; i < 3; i++, rank++) {
        kept_sizes[rank] = sizes[i];
        kept_strides[rank] = strides[i];
    }
    return dnnl_memory_desc_init_by_strides(matrix, rank, kept_sizes, cse_dnnl_type(plan->dtype),
                                            kept_strides);
}

static cse_status new_dnnl(const cse_kernel_plan *plan, const cse_matmul_sizes *s,
                           cse_kernel **kernel)
{
    cse_dnnl_call call = { .plan = plan,
                           .operands = { { DNNL_ARG_SRC, plan->operands[0], { 0 } },
                                         { DNNL_ARG_WEIGHTS, plan->operands[1], { 0 } },
                                         { DNNL_ARG_DST, CSE_DNNL_OUTPUT, { 0 } },
                                         { DNNL_ARG_BIAS, plan->bias, { 0 } } },
                           .operand_count = plan->bias >= 0 ? 4 : 3,
                           .flops = cse_matmul_flops(s) };
    cse_dnnl_operand *operands = call.operands;
    dnnl_matmul_desc_t description;
    const int64_t a[3] = { s->batches, s->m, s->k }, b[3] = { s->batches, s->k, s->n };
    const int64_t c[3] = { s->batches, s->m, s->n }, bias[3] = { 1, 1, s->n };
    dnnl_status_t status = describe_matrix(&operands[0].plain, plan, a, s->transpose_a);
    if (status == dnnl_success)
        status = describe_matrix(&operands[1].plain, plan, b, s->transpose_b);
    if (status == dnnl_success)
        status = describe_matrix(&operands[2].plain, plan, c, false);
    if (status == dnnl_success && plan->bias >= 0)
        status = describe_matrix(&operands[3].plain, plan, bias, false);
    if (status == dnnl_success)
        status =
            dnnl_matmul_desc_init(&description, &operands[0].plain, &operands[1].plain,
                                  plan->bias >= 0 ? &operands[3].plain : NULL, &operands[2].plain);
    CSE_TRY(cse_dnnl_check(plan, status));
    call.description = &description;
    return cse_dnnl_kernel_new(&call, kernel);
}

/* Prefers our own kernels where they run. For tests and comparisons CSE_MATMUL in the environment
 * (product_order.h) selects oneDNN ("onednn") or one of the implementations of matmul_narrow.h. The
 * bits of oneDNN differ from ours, so all processes of a run must use the same setting. */
cse_status cse_kernel_new_product(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                                  cse_kernel **kernel)
{
    char text[256];
    const char *wanted = cse_product_wish_read().way;
    bool library = wanted != NULL && strcmp(wanted, "onednn") == 0;
    bool one_type = cse_kernel_plan_has_one_type(plan);
    if (sizes->batches * sizes->m * sizes->n == 0 || sizes->k == 0)
        *kernel =
            cse_kernel_new_empty(plan, sizes->n > 0 ? sizes->batches * sizes->m : 0, sizes->n);
    else if (plan->continues) /* in the order of ours alone */
        *kernel = cse_matmul_narrow_new(plan, sizes, library ? NULL : wanted);
    else if (library || (one_type && plan->dtype == CSE_FLOAT32 && !cse_isa_runs(CSE_ISA_AVX2)))
        return one_type ? new_dnnl(plan, sizes, kernel)
                        : cse_fail(CSE_UNAVAILABLE,
                                   "%s: oneDNN does not support operands of different types here",
                                   cse_kernel_plan_text(plan, text, sizeof text));
    else
        *kernel = cse_matmul_narrow_new(plan, sizes, wanted);
    return CSE_OK;
}

cse_status cse_kernel_new_matmul(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    const cse_matmul_sizes sizes = cse_matmul_sizes_of(plan->product);
    return cse_kernel_new_product(plan, &sizes, kernel);
}
