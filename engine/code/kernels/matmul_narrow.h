/* Our own products, of float32 and of 16-bit operands, and their implementations.
 *
 * The result depends on the operands' values and the sizes only; all implementations give the same
 * bits:
 *
 *   bfloat16 x bfloat16   in the order that the graph says (product_order.h chooses it): `pairs` of
 *                         matmul_tiles.h, which is that of the matrix units (AMX), or `dot`, which
 *                         is that of the vector units' dot product (AVX512_BF16)
 *   all others            the order `chain`: a product of two 16-bit values is exact in float32, so
 *                         that nothing is lost by widening them
 *
 * Then bias, then relu, then one rounding to the result's type. A bias of bfloat16 is added to the
 * sum rounded to bfloat16. */
#ifndef CSE_KERNELS_MATMUL_NARROW_H
#define CSE_KERNELS_MATMUL_NARROW_H

#include <string.h>

#include "engine/code/kernels/matmul_sizes.h"
#include "engine/code/kernels/scratch.h"

/* An operand: element (i, p) of the outer index and of k. One of the strides is 1. */
typedef struct cse_matmul_side {
    cse_dtype dtype;
    const void *values;
    int64_t outer_stride, depth_stride;
    int64_t size; /* of the outer index */
} cse_matmul_side;

/* Where finished sums go, and what is applied to them. */
typedef struct cse_matmul_end {
    cse_dtype dtype; /* of the result [m, n] */
    void *to;
    int64_t stride;
    const float *bias; /* by column, or NULL */
    bool relu;
    bool continues;              /* sums go on from the float32 values that lie there */
    const uint16_t *narrow_bias; /* by column, or NULL: of a result in bfloat16 */
} cse_matmul_end;

/* Finished sums: some rows and columns of the result; rows are `stride` elements apart. */
typedef struct cse_matmul_block {
    const float *values;
    int64_t stride, row, rows, column, columns;
} cse_matmul_block;

typedef struct cse_narrow_way cse_narrow_way;

typedef struct cse_narrow_kernel {
    cse_kernel base;
    const cse_narrow_way *way;
    cse_matmul_sizes sizes;
    cse_dtype dtypes[2], result;
    int operands[2], bias;
    int continued;  /* position of the sums that go on */
    bool continues; /* else they start from 0 */
    bool relu, narrow_bias;
    cse_product_order order;
    cse_scratch *scratch;
} cse_narrow_kernel;

enum {
    CSE_NARROW_ORDERS_ALL =
        1 << CSE_PRODUCT_ORDER_CHAIN | 1 << CSE_PRODUCT_ORDER_PAIRS | 1 << CSE_PRODUCT_ORDER_DOT
};

struct cse_narrow_way {
    const char *name; /* for reports and CSE_MATMUL */
    bool (*runs_here)(void);
    unsigned orders; /* that it has: bits by cse_product_order */
    size_t (*scratch_bytes)(const cse_narrow_kernel *kernel);
    /* One product; `place` is the scratch. */
    void (*multiply)(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place);
};

extern const cse_narrow_way cse_narrow_amx, cse_narrow_dot, cse_narrow_packed, cse_narrow_avx512,
    cse_narrow_avx2, cse_narrow_plain;

/* The kernel of a product; sizes must not be 0. `wanted`: the name
 * of the implementation with which the search for one that runs here begins, or NULL for the
 * fastest one. */
cse_kernel *cse_matmul_narrow_new(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                                  const char *wanted);

/* The same without scratch, for kernels that multiply by `way` themselves: they bring a place of
 * way->scratch_bytes, and may set other sizes before each call of both. */
void cse_matmul_narrow_prepare(const cse_kernel_plan *plan, const cse_matmul_sizes *sizes,
                               const char *wanted, cse_narrow_kernel *kernel);

/* The sums that a block goes on from, if it does; else, and beyond it, zeros: `rows` of `width`. */
static inline void cse_matmul_begin(const cse_matmul_end *end, const cse_matmul_block *block,
                                    float *to, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++) {
        const int64_t columns = end->continues && r < block->rows ? block->columns : 0;
        const float *from = (const float *)end->to + (block->row + r) * end->stride + block->column;
        if (columns > 0)
            memcpy(to + r * block->stride, from, (size_t)columns * sizeof *to);
        memset(to + r * block->stride + columns, 0, (size_t)(width - columns) * sizeof *to);
    }
}

/* Bias, relu, rounding and storing, with AVX-512, with AVX2 or without: the same bits. */
void cse_matmul_finish_avx512(const cse_matmul_end *end, const cse_matmul_block *block);
void cse_matmul_finish_avx2(const cse_matmul_end *end, const cse_matmul_block *block);
void cse_matmul_finish_plain(const cse_matmul_end *end, const cse_matmul_block *block);

#endif
