/* Products of a mixture of experts: rows of one expert are one product of our own kernels
 * (matmul_narrow.h), whose bits do not depend on how many rows it has.
 *
 * How many rows an expert has is known when the kernel runs. So it has scratch memory for any
 * number of them, and sets the sizes of each product as it goes. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/empty.h"
#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/product_order.h"

enum { X, Y, EXPERTS, OPERANDS };

typedef struct expert_kernel {
    cse_kernel base;
    cse_narrow_kernel product; /* of one expert; its sizes are those of the run before */
    int operands[OPERANDS];
    bool transposed;            /* expert_matmul: the weights are [experts, n, k] */
    int64_t rows, experts;      /* of all products */
    int64_t widths[2];          /* expert_outer: elements of a row of x and y */
    size_t place_bytes, x_rows; /* of the product's scratch, and of the rows of x behind it */
    cse_scratch *scratch;
} expert_kernel;

static const char *at(const void *values, cse_dtype dtype, int64_t element)
{
    return (const char *)values + (size_t)element * cse_dtype_size(dtype);
}

static void destroy(cse_kernel *base)
{
    cse_scratch_release(&((expert_kernel *)base)->scratch);
    free(base);
}

/* ---- rows times matrices ---- */

static void fill_with_nan(cse_dtype dtype, char *to, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++)
        if (dtype == CSE_FLOAT32)
            ((float *)(void *)to)[i] = __builtin_nanf("");
        else
            ((uint16_t *)(void *)to)[i] = cse_round_to_bits(dtype, __builtin_nanf(""));
}

/* Rows [first, first + count), all of one expert. */
static void multiply_run(expert_kernel *self, const void *const inputs[], int64_t first,
                         int64_t count, char *to)
{
    cse_narrow_kernel *product = &self->product;
    const int64_t n = product->sizes.n, k = product->sizes.k;
    const int32_t expert = ((const int32_t *)inputs[self->operands[EXPERTS]])[first];
    if (expert < 0 || expert >= self->experts) {
        fill_with_nan(product->result, to, count * n);
        return;
    }
    product->sizes.m = count;
    const cse_matmul_side sides[2] = {
        { product->dtypes[0], at(inputs[self->operands[X]], product->dtypes[0], first * k), k, 1,
          count },
        { product->dtypes[1], at(inputs[self->operands[Y]], product->dtypes[1], expert * n * k),
          self->transposed ? k : 1, self->transposed ? 1 : n, n },
    };
    const cse_matmul_end end = { product->result, to, n, NULL, false, false, NULL };
    product->way->multiply(product, sides, &end, cse_scratch_view(self->scratch));
}

static void run_rows(cse_kernel *base, const void *const inputs[], void *output)
{
    expert_kernel *self = (expert_kernel *)base;
    const int32_t *experts = inputs[self->operands[EXPERTS]];
    const size_t row = (size_t)self->product.sizes.n * cse_dtype_size(self->product.result);
    for (int64_t first = 0, end; first < self->rows; first = end) {
        for (end = first + 1; end < self->rows && experts[end] == experts[first]; end++) {
        }
        multiply_run(self, inputs, first, end - first, (char *)output + (size_t)first * row);
    }
}

/* ---- outer products ---- */

static bool is_sorted(const int32_t *experts, int64_t rows, int64_t count)
{
    bool sorted = rows > 0 && experts[0] >= 0 && experts[rows - 1] < count;
    for (int64_t r = 1; r < rows && sorted; r++)
        sorted = experts[r - 1] <= experts[r];
    return sorted;
}

/* Copies the rows of an expert one behind the other; returns how many there are. */
static int64_t collect(const expert_kernel *self, const void *const inputs[], int32_t expert,
                       char *const to[2])
{
    const int32_t *experts = inputs[self->operands[EXPERTS]];
    int64_t count = 0;
    for (int64_t r = 0; r < self->rows; r++) {
        for (int i = 0; i < 2 && experts[r] == expert; i++) {
            const size_t bytes = (size_t)self->widths[i] * cse_dtype_size(self->product.dtypes[i]);
            memcpy(to[i] + (size_t)count * bytes,
                   (const char *)inputs[self->operands[i]] + (size_t)r * bytes, bytes);
        }
        count += experts[r] == expert;
    }
    return count;
}

static void sum_rows(expert_kernel *self, const char *const rows[2], int64_t count, char *to)
{
    cse_narrow_kernel *product = &self->product;
    const int64_t m = product->sizes.m, n = product->sizes.n;
    if (count == 0) {
        memset(to, 0, (size_t)(m * n) * cse_dtype_size(product->result));
        return;
    }
    product->sizes.k = count;
    const cse_matmul_side sides[2] = { { product->dtypes[0], rows[0], 1, m, m },
                                       { product->dtypes[1], rows[1], 1, n, n } };
    const cse_matmul_end end = { product->result, to, n, NULL, false, false, NULL };
    product->way->multiply(product, sides, &end, cse_scratch_view(self->scratch));
}

static void run_outer(cse_kernel *base, const void *const inputs[], void *output)
{
    expert_kernel *self = (expert_kernel *)base;
    const int32_t *experts = inputs[self->operands[EXPERTS]];
    const bool sorted = is_sorted(experts, self->rows, self->experts);
    const size_t bytes =
        (size_t)(self->widths[0] * self->widths[1]) * cse_dtype_size(self->product.result);
    char *copy = (char *)cse_scratch_view(self->scratch) + self->place_bytes;
    char *const copies[2] = { copy, copy + self->x_rows };
    const char *rows[2] = { copies[0], copies[1] };
    int64_t first = 0;
    for (int32_t expert = 0; expert < self->experts; expert++) {
        int64_t count = 0;
        if (!sorted)
            count = collect(self, inputs, expert, copies);
        while (sorted && first + count < self->rows && experts[first + count] == expert)
            count++;
        for (int i = 0; i < 2 && sorted; i++)
            rows[i] =
                at(inputs[self->operands[i]], self->product.dtypes[i], first * self->widths[i]);
        sum_rows(self, rows, count, (char *)output + (size_t)expert * bytes);
        first += count;
    }
}

/* ---- kernels ---- */

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* For any number of rows; `rows` is the size that counts them. */
static size_t most_scratch(cse_narrow_kernel *product, int64_t *rows, int64_t most)
{
    size_t bytes = 0;
    for (*rows = 1; *rows <= most; ++*rows) {
        const size_t wanted = product->way->scratch_bytes(product);
        bytes = wanted > bytes ? wanted : bytes;
    }
    return aligned(bytes);
}

static expert_kernel *new_kernel(const cse_kernel_plan *plan, const cse_matmul_sizes *all)
{
    expert_kernel *self = cse_calloc(1, sizeof *self);
    cse_matmul_narrow_prepare(plan, all, cse_product_wish_read().way, &self->product);
    self->base = self->product.base;
    self->base.destroy = destroy;
    for (int i = 0; i < OPERANDS; i++)
        self->operands[i] = plan->operands[i];
    self->rows = plan->product->inputs[X]->shape.dims[0];
    return self;
}

cse_status cse_kernel_new_expert_matmul(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    const cse_node *node = plan->product;
    const bool transposed = node->attributes.integers[0] != 0;
    const cse_matmul_sizes all = { .batches = 1,
                                   .m = node->shape.dims[0],
                                   .n = node->shape.dims[1],
                                   .k = node->inputs[X]->shape.dims[1],
                                   .transpose_b = transposed };
    if (all.m * all.n * all.k == 0) {
        *kernel = cse_kernel_new_empty(plan, all.n > 0 ? all.m : 0, all.n);
        return CSE_OK;
    }
    expert_kernel *self = new_kernel(plan, &all);
    self->base.run = run_rows;
    self->transposed = transposed;
    self->experts = node->inputs[Y]->shape.dims[0];
    self->scratch = cse_scratch_share(
        plan->graph, most_scratch(&self->product, &self->product.sizes.m, self->rows));
    *kernel = &self->base;
    return CSE_OK;
}

cse_status cse_kernel_new_expert_outer(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    const cse_node *node = plan->product;
    const cse_matmul_sizes all = { .batches = 1,
                                   .m = node->shape.dims[1],
                                   .n = node->shape.dims[2],
                                   .k = node->inputs[X]->shape.dims[0],
                                   .transpose_a = true };
    size_t bytes[2];
    if (all.m * all.n * all.k == 0) {
        *kernel = cse_kernel_new_empty(plan, node->shape.dims[0] * all.m, all.n);
        return CSE_OK;
    }
    expert_kernel *self = new_kernel(plan, &all);
    self->base.run = run_outer;
    self->experts = node->shape.dims[0];
    for (int i = 0; i < 2; i++) {
        self->widths[i] = node->shape.dims[1 + i];
        bytes[i] = aligned((size_t)(self->rows * self->widths[i]) *
                           cse_dtype_size(self->product.dtypes[i]));
    }
    self->place_bytes = most_scratch(&self->product, &self->product.sizes.k, self->rows);
    self->x_rows = bytes[0];
    self->scratch = cse_scratch_share(plan->graph, self->place_bytes + bytes[0] + bytes[1]);
    *kernel = &self->base;
    return CSE_OK;
}

cse_status cse_kernel_refuse_tiled_experts(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    char text[256];
    *kernel = NULL;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the accumulation of experts' products is not emulated; accepted with a "
                    "mixture of experts: precision.emulate_accumulation: false",
                    cse_kernel_plan_text(plan, text, sizeof text));
}
