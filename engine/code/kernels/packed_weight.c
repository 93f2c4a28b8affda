/* Kernels that read packed weights: products, rows of a table, and the whole matrix.
 *
 * A product unpacks a slab of the weight into scratch memory, rounded to the type of the other
 * operand, and multiplies by it with our own kernels (matmul_narrow.h), whose bits depend on the
 * operands alone, not on how the product is divided. So the bits are those of the product with the
 * unpacked weight. A slab is some rows of the weight where these are columns of the result, else
 * some columns of all its rows: the depth of the sums is never divided. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/instruction_set.h"
#include "engine/base/types/dtype.h"
#include "engine/base/types/packed/packed_rows.h"
#include "engine/code/kernels/convert.h"
#include "engine/code/kernels/empty.h"
#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/packed_few_rows.h"
#include "engine/code/kernels/product_order.h"

/* The attributes and inputs of the ops (engine/graph/ops/packed_weight.h). */
enum { NUMBER, COLUMNS, TRANSPOSED };
/* Of a slab: it stays in the L2 cache, or nearly, and is more than a panel of any kernel. */
enum { SLAB_BYTES = 1 << 19, LEAST_ROWS = 64, ROWS_UNIT = 32 };
/* Products of a piece that a thread takes, where few rows are divided. */
enum { PIECE_PRODUCTS = 1 << 15 };

/* A packed matrix. */
typedef struct matrix {
    const cse_packed_type *type;
    int64_t rows, columns, row_words;
} matrix;

static matrix matrix_of(const cse_node *node, int input)
{
    matrix m = { cse_packed_of_number((uint32_t)node->attributes.integers[NUMBER]),
                 node->inputs[input]->shape.dims[0], node->attributes.integers[COLUMNS],
                 node->inputs[input]->shape.dims[1] };
    return m;
}

/* All blocks of a row. */
static cse_packed_blocks blocks_of(const matrix *m, const void *weight, int64_t row)
{
    return (cse_packed_blocks){ m->type, (const int32_t *)weight + row * m->row_words, 0,
                                m->columns / m->type->elements };
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ---- products ---- */

typedef struct linear_kernel {
    cse_kernel base;
    cse_narrow_kernel product; /* of one slab, but for its columns */
    matrix weight;
    int operands[2], bias;
    bool transposed;
    int64_t slab; /* rows of the weight, or else its columns */
    size_t place_bytes, scratch_bytes;
    cse_scratch *scratch; /* the product's, then the slab, then a row in float32 */
} linear_kernel;

/* A run of it, whose parts are divided. */
typedef struct linear_run {
    linear_kernel *kernel;
    const void *const *inputs;
    void *output;
} linear_run;

/* Rounds values that were unpacked to the type of the slab. */
static void put(const linear_kernel *self, const float *values, int64_t count, char *slab,
                int64_t at)
{
    const cse_dtype dtype = self->product.dtypes[1];
    cse_narrow(dtype, values, slab + (size_t)at * cse_dtype_size(dtype), count);
}

/* A part of the weight, unpacked. */
typedef struct slab_part {
    int64_t first, count; /* rows of the weight, or else its columns */
    char *slab;
    float *row; /* for values that are rounded */
} slab_part;

static void unpack_slab(const linear_kernel *self, const void *weight, const slab_part *part)
{
    const matrix *m = &self->weight;
    const int64_t elements = m->type->elements;
    const int64_t width = self->transposed ? m->columns : part->count;
    const int64_t rows = self->transposed ? part->count : m->rows;
    const bool direct = self->product.dtypes[1] == CSE_FLOAT32;
    for (int64_t r = 0; r < rows; r++) {
        float *to = direct ? (float *)(void *)part->slab + r * width : part->row;
        cse_packed_blocks blocks = blocks_of(m, weight, self->transposed ? part->first + r : r);
        if (!self->transposed)
            blocks = (cse_packed_blocks){ m->type, blocks.row, part->first / elements,
                                          width / elements };
        cse_packed_unpack_blocks(&blocks, to);
        if (!direct)
            put(self, part->row, width, part->slab, r * width);
    }
}

/* For few rows in float32, each row of the weight is read once. */
static bool takes_few(const linear_kernel *self)
{
    const cse_narrow_kernel *product = &self->product;
    return self->transposed && product->sizes.m <= CSE_PACKED_FEW_ROWS &&
           product->dtypes[0] == CSE_FLOAT32 && product->result == CSE_FLOAT32 &&
           cse_isa_runs(CSE_ISA_AVX2) && cse_product_wish_read().way == NULL;
}

/* Rows [first, end) of the weight. */
static void run_few_part(void *run, int member, int64_t first, int64_t end)
{
    const linear_run *r = run;
    const linear_kernel *self = r->kernel;
    const matrix *m = &self->weight;
    const cse_few_rows few = { .type = m->type,
                               .weight = r->inputs[self->operands[1]],
                               .columns = m->columns,
                               .row_words = m->row_words,
                               .first = first,
                               .end = end,
                               .x = r->inputs[self->operands[0]],
                               .rows = self->product.sizes.m,
                               .to = r->output,
                               .stride = m->rows,
                               .bias = self->bias >= 0 ? r->inputs[self->bias] : NULL,
                               .relu = self->product.relu };
    (void)member;
    if (!cse_isa_runs(CSE_ISA_AVX512))
        cse_packed_few_rows_avx2(&few);
    else if (!cse_packed_few_words(&few) && !cse_packed_few_k(&few) && !cse_packed_few_levels(&few))
        cse_packed_few_rows_avx512(&few);
}

static void run_few(cse_kernel *base, const void *const inputs[], void *output)
{
    linear_kernel *self = (linear_kernel *)base;
    linear_run r = { self, inputs, output };
    const int64_t rows = PIECE_PRODUCTS / self->weight.columns / self->product.sizes.m;
    const cse_team_job job = { run_few_part, &r, self->weight.rows,
                               (rows / ROWS_UNIT + 1) * ROWS_UNIT };
    cse_thread_team_divide(base->team, &job);
}

/* One slab: columns of the result from `first` on. */
static void run_slab(const linear_run *r, const slab_part *part, char *place)
{
    const linear_kernel *self = r->kernel;
    cse_narrow_kernel product = self->product;
    const matrix *m = &self->weight;
    const int64_t n = self->transposed ? m->rows : m->columns, k = product.sizes.k;
    const int64_t first = part->first, count = part->count;
    const float *bias = self->bias >= 0 ? r->inputs[self->bias] : NULL;
    unpack_slab(self, r->inputs[self->operands[1]], part);
    product.sizes.n = count;
    const cse_matmul_side sides[2] = {
        { product.dtypes[0], r->inputs[self->operands[0]], k, 1, product.sizes.m },
        { product.dtypes[1], part->slab, self->transposed ? k : 1, self->transposed ? 1 : count,
          count },
    };
    const cse_matmul_end end = { product.result,
                                 (char *)r->output + (size_t)first * cse_dtype_size(product.result),
                                 n,
                                 bias != NULL ? bias + first : NULL,
                                 product.relu,
                                 false,
                                 NULL };
    product.way->multiply(&product, sides, &end, place);
}

static void run_slabs(void *run, int member, int64_t first, int64_t end)
{
    const linear_run *r = run;
    const linear_kernel *self = r->kernel;
    char *place = member == 0
                      ? cse_scratch_view(self->scratch)
                      : cse_thread_team_scratch(self->base.team, member, self->scratch_bytes);
    slab_part part = { .slab = place + self->place_bytes };
    part.row = (float *)(void *)(part.slab + aligned((size_t)(self->slab * self->product.sizes.k) *
                                                     cse_dtype_size(self->product.dtypes[1])));
    for (part.first = first; part.first < end; part.first += self->slab) {
        part.count = end - part.first < self->slab ? end - part.first : self->slab;
        run_slab(r, &part, place);
    }
}

static void run_linear(cse_kernel *base, const void *const inputs[], void *output)
{
    linear_kernel *self = (linear_kernel *)base;
    linear_run r = { self, inputs, output };
    const int64_t n = self->transposed ? self->weight.rows : self->weight.columns;
    const int64_t unit = self->transposed ? LEAST_ROWS : self->weight.type->elements;
    cse_thread_team_divide(base->team, &(cse_team_job){ run_slabs, &r, n, unit });
}

static void destroy_linear(cse_kernel *base)
{
    cse_scratch_release(&((linear_kernel *)base)->scratch);
    free(base);
}

static int64_t slab_of(const matrix *m, bool transposed)
{
    const int64_t unit = transposed ? ROWS_UNIT : m->type->elements;
    const int64_t depth = transposed ? m->columns : m->rows;
    const int64_t fitting = SLAB_BYTES / (int64_t)sizeof(float) / depth;
    const int64_t least = transposed ? LEAST_ROWS : unit;
    const int64_t size = fitting / unit * unit, all = transposed ? m->rows : m->columns;
    const int64_t slab = size > least ? size : least;
    return slab < all ? slab : all;
}

/* Of a whole slab, and of the last one. */
static size_t most_place(linear_kernel *self, int64_t n)
{
    cse_narrow_kernel *product = &self->product;
    size_t most = 0;
    const int64_t sizes[] = { self->slab, n % self->slab };
    for (int i = 0; i < 2; i++) {
        product->sizes.n = sizes[i];
        const size_t bytes = sizes[i] > 0 ? product->way->scratch_bytes(product) : 0;
        most = bytes > most ? bytes : most;
    }
    return aligned(most);
}

cse_status cse_kernel_new_packed_linear(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    const cse_node *node = plan->product;
    const bool transposed = node->attributes.integers[TRANSPOSED] != 0;
    const matrix weight = matrix_of(node, 1);
    const cse_matmul_sizes all = { .batches = 1,
                                   .m = node->shape.dims[0],
                                   .n = node->shape.dims[1],
                                   .k = node->inputs[0]->shape.dims[1],
                                   .transpose_b = transposed };
    if (all.m * all.n * all.k == 0) {
        *kernel = cse_kernel_new_empty(plan, all.n > 0 ? all.m : 0, all.n);
        return CSE_OK;
    }
    linear_kernel *self = cse_calloc(1, sizeof *self);
    cse_kernel_plan unpacked = *plan;
    unpacked.operand_dtypes[1] = plan->operand_dtypes[0];
    cse_matmul_narrow_prepare(&unpacked, &all, cse_product_wish_read().way, &self->product);
    self->base = self->product.base;
    self->base.run = run_linear;
    self->base.destroy = destroy_linear;
    self->weight = weight;
    self->operands[0] = plan->operands[0];
    self->operands[1] = plan->operands[1];
    self->bias = plan->bias;
    self->transposed = transposed;
    self->slab = slab_of(&weight, transposed);
    self->place_bytes = most_place(self, all.n);
    self->scratch_bytes =
        self->place_bytes +
        aligned((size_t)(self->slab * all.k) * cse_dtype_size(self->product.dtypes[1])) +
        (size_t)weight.columns * sizeof(float);
    self->scratch = cse_scratch_share(plan->graph, self->scratch_bytes);
    if (takes_few(self)) {
        self->base.run = run_few;
        self->base.implementation = "packed few rows";
    }
    *kernel = &self->base;
    return CSE_OK;
}

cse_status cse_kernel_refuse_tiled_packed(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    char text[256];
    *kernel = NULL;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the accumulation of products with packed weights is not emulated; "
                    "accepted: precision.emulate_accumulation: false",
                    cse_kernel_plan_text(plan, text, sizeof text));
}

/* ---- rows, and the whole matrix ---- */

typedef struct rows_kernel {
    cse_kernel base;
    matrix weight;
    int operands[2]; /* the weight, and the indices */
    int64_t count;   /* of indices */
    cse_dtype result;
    cse_scratch *scratch;
} rows_kernel;

static void store_row(const rows_kernel *self, const float *row, int64_t at, void *output)
{
    const size_t size = cse_dtype_size(self->result);
    cse_narrow(self->result, row, (char *)output + (size_t)(at * self->weight.columns) * size,
               self->weight.columns);
}

static void run_rows(cse_kernel *base, const void *const inputs[], void *output)
{
    const rows_kernel *self = (const rows_kernel *)base;
    const matrix *m = &self->weight;
    const int32_t *indices = inputs[self->operands[1]];
    float *row = cse_scratch_view(self->scratch);
    for (int64_t i = 0; i < self->count; i++) {
        const bool inside = indices[i] >= 0 && indices[i] < m->rows;
        const cse_packed_blocks blocks =
            blocks_of(m, inputs[self->operands[0]], inside ? indices[i] : 0);
        if (inside)
            cse_packed_unpack_blocks(&blocks, row);
        else
            for (int64_t c = 0; c < m->columns; c++)
                row[c] = NAN;
        store_row(self, row, i, output);
    }
}

static void run_unpack(cse_kernel *base, const void *const inputs[], void *output)
{
    const rows_kernel *self = (const rows_kernel *)base;
    const matrix *m = &self->weight;
    float *row = cse_scratch_view(self->scratch);
    for (int64_t r = 0; r < m->rows; r++) {
        const cse_packed_blocks blocks = blocks_of(m, inputs[self->operands[0]], r);
        cse_packed_unpack_blocks(&blocks, row);
        store_row(self, row, r, output);
    }
}

static void destroy_rows(cse_kernel *base)
{
    cse_scratch_release(&((rows_kernel *)base)->scratch);
    free(base);
}

static rows_kernel *new_rows(const cse_kernel_plan *plan)
{
    rows_kernel *self = cse_calloc(1, sizeof *self);
    self->weight = matrix_of(plan->product, 0);
    self->base.destroy = destroy_rows;
    self->base.implementation = "packed rows";
    self->operands[0] = plan->operands[0];
    self->result = plan->dtype;
    self->scratch = cse_scratch_share(plan->graph, (size_t)self->weight.columns * sizeof(float));
    return self;
}

cse_status cse_kernel_new_packed_embedding(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    rows_kernel *self = new_rows(plan);
    self->base.run = run_rows;
    self->operands[1] = plan->operands[1];
    self->count = cse_shape_elements(plan->product->inputs[1]->shape);
    *kernel = &self->base;
    return CSE_OK;
}

cse_status cse_kernel_new_unpack_weight(const cse_kernel_plan *plan, cse_kernel **kernel)
{
    rows_kernel *self = new_rows(plan);
    self->base.run = run_unpack;
    *kernel = &self->base;
    return CSE_OK;
}
