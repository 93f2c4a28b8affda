/* Products with 16-bit operands, random values from ordinary to extreme, and the comparison of the
 * ways to compute them. */
#ifndef TESTS_KERNELS_NARROW_FIXTURE_H
#define TESTS_KERNELS_NARROW_FIXTURE_H

#include <stdio.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tests/engine/code/kernels/fixture.h"

typedef struct product {
    int64_t batches, m, n, k;
    bool transpose_a, transpose_b, bias, relu;
    cse_dtype a, b, result;
} product;

static const cse_dtype formats[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };

/* The ways to compute a product, by order of summation. */
enum { ORDERS = 2, WAYS = 4 };
static const char *const orders[ORDERS] = { "pairs", "dot" };
static const char *const ways[ORDERS][WAYS] = {
    { "pairs:amx", "pairs:avx512", "pairs:avx2", "pairs:plain" },
    { "dot:avx512_bf16", "dot:avx512", "dot:avx2", "dot:plain" },
};

/* The exponents that random operands have, as powers of two around 1; `wild` of 64 elements are
 * infinities, NaN, zeros or subnormal numbers. */
typedef struct spread {
    int lowest, count, wild;
} spread;

static inline void build(const product *p, kernel_case *one)
{
    extern const cse_op cse_op_matmul;
    const cse_attributes transposes = { .integer_count = 2,
                                        .integers = { p->transpose_a, p->transpose_b } };
    kernel_case_begin(one);
    cse_node *operands[2] = {
        kernel_case_leaf(one,
                         p->transpose_a ? cse_shape_of(p->batches, p->k, p->m)
                                        : cse_shape_of(p->batches, p->m, p->k),
                         p->a),
        kernel_case_leaf(one,
                         p->transpose_b ? cse_shape_of(p->batches, p->n, p->k)
                                        : cse_shape_of(p->batches, p->k, p->n),
                         p->a)
    };
    const cse_dtype of_bias = p->result == CSE_BFLOAT16 ? CSE_BFLOAT16 : CSE_FLOAT32;
    cse_node *bias = p->bias ? kernel_case_leaf(one, cse_shape_of(p->n), of_bias) : NULL;
    cse_node *last = cse_trace(&cse_op_matmul, &transposes, 2, operands);
    operands[1]->dtype = p->b; /* as a pass may: tracing takes one type */
    last->dtype = p->result;
    kernel_case_add(one, last);
    if (p->bias) {
        cse_node *wide = cse_broadcast_to(bias, last->shape);
        cse_node *sum = cse_add(last, wide);
        ck_assert(cse_kernel_accepts(one->members, 1, sum));
        kernel_case_add(one, wide);
        last = kernel_case_add(one, sum);
    }
    if (p->relu) {
        cse_node *positive = cse_relu(last);
        ck_assert(cse_kernel_accepts(one->members, one->group.node_count, positive));
        last = kernel_case_add(one, positive);
    }
    kernel_case_close(one);
}

/* Every element of the leaves, by its random words. */
static inline void draw(kernel_case *one, uint64_t seed, spread s)
{
    static const double wild[] = { INFINITY, -INFINITY, NAN, 0.0, -0.0, 0x1p-140, -0x1p-130, 3e38 };
    for (int n = 0; n < one->node_count; n++) {
        int64_t count = one->values[n] ? cse_shape_elements(one->nodes[n]->shape) : 0;
        for (int64_t e = 0; e < count; e++) {
            uint32_t counter[4] = { (uint32_t)e, (uint32_t)n, 5, 0 }, words[4];
            cse_philox(seed, counter, words);
            double value = ldexp(1 + (double)cse_uniform_from_bits(words[0]),
                                 s.lowest + (int)(words[1] % (uint32_t)s.count));
            if ((int)(words[2] % 64) < s.wild)
                value = wild[words[3] % 8];
            cse_write_element(one->nodes[n]->dtype, one->values[n], e,
                              words[2] >> 31 ? -value : value);
        }
    }
}

static inline void name_of(const product *p, const char *way, char *text, size_t size)
{
    snprintf(text, size, "%s: %lld x [%lld, %lld, %lld] %d%d bias %d relu %d %s x %s: %s", way,
             (long long)p->batches, (long long)p->m, (long long)p->n, (long long)p->k,
             p->transpose_a, p->transpose_b, p->bias, p->relu, cse_dtype_name(p->a),
             cse_dtype_name(p->b), cse_dtype_name(p->result));
}

static inline void *run_way(const kernel_case *one, const char *way, const char *name)
{
    setenv("CSE_MATMUL", way, 1);
    cse_kernel *kernel = kernel_case_kernel(one, name);
    void *got = cse_calloc(kernel_case_output_bytes(one) + 1, 1);
    kernel_case_run(one, kernel, 1, got);
    cse_kernel_destroy(&kernel);
    unsetenv("CSE_MATMUL");
    return got;
}

/* The same bits, where NaN is NaN whatever its bits are. */
static inline void check_same(const kernel_case *one, const void *a, const void *b,
                              const char *name)
{
    const cse_node *last = one->nodes[one->node_count - 1];
    size_t size = cse_dtype_size(last->dtype);
    for (int64_t e = 0; e < cse_shape_elements(last->shape); e++) {
        double x = cse_read_element(last->dtype, a, e), y = cse_read_element(last->dtype, b, e);
        bool same = memcmp((const char *)a + (size_t)e * size, (const char *)b + (size_t)e * size,
                           size) == 0;
        cse_expect(same || (isnan(x) && isnan(y)), "%s: element %lld is %a, elsewhere %a", name,
                   (long long)e, x, y);
    }
}

/* All ways of an order against the first one. */
static inline void check_ways(const kernel_case *one, const product *p, int order)
{
    char name[200];
    name_of(p, orders[order], name, sizeof name);
    void *first = run_way(one, ways[order][0], name);
    for (int w = 1; w < WAYS; w++) {
        name_of(p, ways[order][w], name, sizeof name);
        void *other = run_way(one, ways[order][w], name);
        check_same(one, first, other, name);
        free(other);
    }
    free(first);
}

static inline bool is_bfloat16(const product *p)
{
    return p->a == CSE_BFLOAT16 && p->b == CSE_BFLOAT16;
}

/* The same for both orders; products of other types have one. */
static inline void check_orders(const kernel_case *one, const product *p)
{
    for (int order = 0; order < (is_bfloat16(p) ? ORDERS : 1); order++)
        check_ways(one, p, order);
}

static inline void flush_subnormals(bool on)
{
#if defined(__x86_64__)
    _mm_setcsr(on ? 0x9fc0 : 0x1f80);
#else
    (void)on;
#endif
}

#endif
