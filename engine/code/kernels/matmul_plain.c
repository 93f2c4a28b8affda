/* Products with 16-bit operands in plain C, for every machine: slow, with the same bits as the
 * other implementations.
 *
 * A fused multiply-add is computed in double: the product is exact there, and the sum is rounded to
 * odd, so that the rounding to float32 after it is correct (Boldo and Melquiond, "Emulation of FMA
 * and correctly rounded sums", 2008). In the orders `pairs` and `dot` subnormal numbers count as 0
 * on both sides of every operation. A result counts as subnormal if it is below the least normal
 * number after rounding to 24 bits (underflow is detected after rounding), as in the processors. */
#include <math.h>

#include "engine/base/types/dtype.h"
#include "engine/code/kernels/matmul_narrow.h"

enum { WIDTH = 64 };

static bool runs_here(void)
{
    return true;
}

/* Columns [k][WIDTH] and one row, widened. */
static size_t scratch_bytes(const cse_narrow_kernel *kernel)
{
    return (size_t)kernel->sizes.k * (WIDTH + 1) * sizeof(float);
}

static float element(const cse_matmul_side *side, int64_t i, int64_t p)
{
    int64_t at = i * side->outer_stride + p * side->depth_stride;
    if (side->dtype == CSE_FLOAT32)
        return ((const float *)side->values)[at];
    uint16_t bits = ((const uint16_t *)side->values)[at];
    return side->dtype == CSE_BFLOAT16 ? cse_float_from_bfloat16(bits)
                                       : cse_float_from_format(side->dtype, bits);
}

/* a + b rounded to odd: the last bit is set if the sum is inexact. */
static double add_to_odd(double a, double b)
{
    double sum = a + b, rest = sum - a, lost = (a - (sum - rest)) + (b - rest);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((lost < 0 || lost > 0) && (bits & 1) == 0)
        bits += (lost > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* Subnormal float32 numbers are 0. */
static float flush(float x)
{
    uint32_t bits = cse_float_bits(x);
    return (bits & 0x7f800000) == 0 ? cse_float_from_bits(bits & 0x80000000) : x;
}

static float flush_sum(double sum)
{
    if (fabs(sum) >= 0x1p-125 || isnan(sum))
        return (float)sum;
    float scaled = (float)(sum * 0x1p64);
    return fabsf(scaled) < 0x1p-62f ? copysignf(0, scaled) : scaled * 0x1p-64f;
}

static float add_flushed(float a, float b)
{
    return flush_sum(add_to_odd((double)flush(a), (double)flush(b)));
}

static void add_chain(const float *row, const float *columns, int64_t k, float sums[WIDTH])
{
    for (int64_t p = 0; p < k; p++)
        for (int c = 0; c < WIDTH; c++)
            sums[c] =
                (float)add_to_odd((double)row[p] * (double)columns[p * WIDTH + c], (double)sums[c]);
}

static void add_pairs(const float *row, const float *columns, int64_t k, float sums[WIDTH])
{
    for (int64_t first = 0; first < k; first += 32) {
        float chains[2][WIDTH] = { { 0 } };
        for (int64_t p = first; p < first + 32; p++)
            for (int c = 0; c < WIDTH; c++) {
                /* The depth is padded with zeros, which turn a sum of -0 into +0. */
                double product =
                    p < k ? (double)flush(row[p]) * (double)flush(columns[p * WIDTH + c]) : 0;
                chains[p & 1][c] = flush_sum(add_to_odd(product, (double)chains[p & 1][c]));
            }
        for (int c = 0; c < WIDTH; c++)
            sums[c] = add_flushed(sums[c], add_flushed(chains[0][c], chains[1][c]));
    }
}

static void add_dot(const float *row, const float *columns, int64_t k, float sums[WIDTH])
{
    for (int64_t step = 0; step < (k + 1) / 2 * 2; step++)
        for (int c = 0; c < WIDTH; c++) {
            const int64_t p = step ^ 1;
            /* As above, a zero beyond the depth turns a sum of -0 into +0. */
            double product =
                p < k ? (double)flush(row[p]) * (double)flush(columns[p * WIDTH + c]) : 0;
            sums[c] = flush_sum(add_to_odd(product, (double)sums[c]));
        }
}

typedef void adder(const float *row, const float *columns, int64_t k, float sums[WIDTH]);

static adder *const adders[CSE_PRODUCT_ORDER_COUNT] = { [CSE_PRODUCT_ORDER_CHAIN] = add_chain,
                                                        [CSE_PRODUCT_ORDER_PAIRS] = add_pairs,
                                                        [CSE_PRODUCT_ORDER_DOT] = add_dot };

void cse_matmul_finish_plain(const cse_matmul_end *end, const cse_matmul_block *block)
{
    for (int64_t r = 0; r < block->rows; r++)
        for (int64_t c = 0; c < block->columns; c++) {
            float sum = block->values[r * block->stride + c];
            int64_t at = (block->row + r) * end->stride + block->column + c;
            if (end->bias != NULL)
                sum += end->bias[block->column + c];
            if (end->narrow_bias != NULL)
                sum = cse_float_from_bfloat16(cse_round_to_bits(CSE_BFLOAT16, sum)) +
                      cse_float_from_bfloat16(end->narrow_bias[block->column + c]);
            if (end->relu)
                sum = sum < 0 ? 0 : sum;
            if (end->dtype == CSE_FLOAT32)
                ((float *)end->to)[at] = sum;
            else
                ((uint16_t *)end->to)[at] = cse_round_to_bits(end->dtype, sum);
        }
}

static void multiply(const cse_narrow_kernel *kernel, const cse_matmul_side sides[2],
                     const cse_matmul_end *end, void *place)
{
    const cse_matmul_sizes *s = &kernel->sizes;
    float *columns = place, *row = columns + s->k * WIDTH;
    for (int64_t column = 0; column < s->n; column += WIDTH) {
        int64_t width = s->n - column < WIDTH ? s->n - column : WIDTH;
        for (int64_t p = 0; p < s->k; p++)
            for (int64_t c = 0; c < WIDTH; c++)
                columns[p * WIDTH + c] = c < width ? element(&sides[1], column + c, p) : 0;
        for (int64_t i = 0; i < s->m; i++) {
            float sums[WIDTH];
            const cse_matmul_block block = { sums, WIDTH, i, 1, column, width };
            cse_matmul_begin(end, &block, sums, 1, WIDTH);
            for (int64_t p = 0; p < s->k; p++)
                row[p] = element(&sides[0], i, p);
            adders[kernel->order](row, columns, s->k, sums);
            cse_matmul_finish_plain(end, &block);
        }
    }
}

const cse_narrow_way cse_narrow_plain = {
    .name = "plain",
    .runs_here = runs_here,
    .orders = CSE_NARROW_ORDERS_ALL,
    .scratch_bytes = scratch_bytes,
    .multiply = multiply,
};
