/* The products of attention in the order `pairs`: the matrix units' own, the same code with their
 * instructions in C, and those of every other way have the same bits, over all exponents and with
 * everything that underflows, overflows, is subnormal or not finite; and it is the order that is
 * laid down. And the products that run beside other work, with that work; and the
 * rounding of results. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#include "tests/engine/code/kernels/emulated_tiles.h"

#define cse_attention_amx emulated_amx
#include "engine/code/kernels/attention_amx.c"
#undef cse_attention_amx

#include "engine/base/arena.h"
#include "engine/base/instruction_set.h"
#include "engine/base/random.h"
#include "engine/base/types/dtype.h"
#include "tests/support/expect.h"

extern const cse_attention_way cse_attention_amx;

enum { CASES = 120, BESIDE_CASES = 40, FLOAT_BYTES = sizeof(float) };

static uint32_t next(uint64_t seed, uint32_t *at)
{
    uint32_t counter[4] = { (*at)++, 0, 3, 0 }, words[4];
    cse_philox(seed, counter, words);
    return words[0];
}

/* Two bfloat16 whose exponents lie around `middle`, `spread` on either side; few are special. */
static uint32_t random_pair(uint64_t seed, uint32_t *at, int middle, int spread)
{
    uint32_t pair = 0;
    for (int half = 0; half < 2; half++) {
        const uint32_t bits = next(seed, at), kind = next(seed, at) % 400;
        int exponent = 127 + middle + (int)(bits >> 8) % (spread + 1) - spread / 2;
        exponent = exponent < 0 ? 0 : exponent > 255 ? 255 : exponent;
        exponent = kind == 0 ? 0 : exponent;
        const uint32_t value = (bits & 0x807f) | (uint32_t)exponent << 7;
        pair |= (kind == 1 ? bits & 0x8000 : value) << 16 * half;
    }
    return pair;
}

typedef struct operands {
    cse_attention_product product;
    float *from, *panel, *sums;
    size_t sum_count;
} operands;

static void fill(float *to, int64_t count, uint64_t seed, uint32_t *at, int middle)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = cse_float_from_bits(random_pair(seed, at, middle, 8));
}

static operands random_product(uint64_t seed)
{
    uint32_t at = 0;
    /* From where products vanish to where they overflow. */
    const int middle = (int)(seed % 9) * 16 - 64;
    cse_attention_product p = { .depth_stride = 1, .first = next(seed, &at) % 2 == 0 };
    p.rows = 1 + next(seed, &at) % 70;
    p.width = 16 * (1 + next(seed, &at) % 4);
    p.depth = CSE_ATTENTION_CHUNK * (1 + next(seed, &at) % 4);
    p.row_stride = p.depth + 16 * (next(seed, &at) % 3);
    p.to_stride = p.width + 16 * (next(seed, &at) % 3);
    const int64_t rows = (p.rows + BLOCK - 1) / BLOCK * BLOCK;
    operands o = { .product = p, .sum_count = (size_t)(rows * p.to_stride) };
    o.from = cse_aligned_calloc((size_t)(rows * p.row_stride) * FLOAT_BYTES);
    o.panel = cse_aligned_calloc((size_t)(p.depth * p.width) * FLOAT_BYTES);
    o.sums = cse_aligned_calloc(o.sum_count * FLOAT_BYTES);
    fill(o.from, rows * p.row_stride, seed, &at, middle);
    fill(o.panel, p.depth * p.width, seed, &at, middle);
    for (size_t i = 0; i < o.sum_count; i++)
        o.sums[i] = cse_float_from_bits(random_pair(seed, &at, 2 * middle, 8));
    return o;
}

static void release(operands *o)
{
    free(o->from);
    free(o->panel);
    free(o->sums);
}

/* The result of a way, on a copy of what the sums hold. */
static float *multiply_by(const cse_attention_way *way, const operands *o)
{
    float *to = cse_aligned_calloc(o->sum_count * FLOAT_BYTES);
    cse_attention_product p = o->product;
    memcpy(to, o->sums, o->sum_count * FLOAT_BYTES);
    p.from = o->from;
    p.panel = o->panel;
    p.to = to;
    if (way->begin != NULL)
        way->begin();
    way->multiply(&p);
    if (way->end != NULL)
        way->end();
    return to;
}

START_TEST(all_products_have_the_same_bits)
{
    static const cse_attention_way *const ways[] = { &emulated_amx, &cse_attention_amx,
                                                     &cse_attention_avx512_pairs,
                                                     &cse_attention_avx2_pairs };
    operands o = random_product(100 + (uint64_t)_i);
    const cse_attention_product *p = &o.product;
    float *wanted = multiply_by(&cse_attention_plain_pairs, &o);
    for (int w = 0; w < 4; w++) {
        if (w > 0 && !ways[w]->runs_here())
            continue;
        float *got = multiply_by(ways[w], &o);
        for (int64_t row = 0; row < p->rows; row++)
            for (int64_t column = 0; column < p->width; column++) {
                const float x = got[row * p->to_stride + column],
                            y = wanted[row * p->to_stride + column];
                cse_expect(memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)),
                           "case %d, %s%s: row %lld, column %lld is %a, not %a", _i,
                           w == 0 ? "emulated " : "", ways[w]->name, (long long)row,
                           (long long)column, (double)x, (double)y);
            }
        free(got);
    }
    free(wanted);
    release(&o);
}
END_TEST

/* ---- products beside other work ---- */

enum { SCORES = BLOCK * BLOCK, WEIGHT_STRIDE = BLOCK + 32, MOST_DEPTH = 4 * CSE_ATTENTION_CHUNK };

/* All that differentiate_beside reads, then all that it writes. */
typedef struct beside {
    float scores[SCORES], gradient[SCORES], statistics[3][BLOCK];
    float from[2][BLOCK * MOST_DEPTH], panels[2][MOST_DEPTH * BLOCK];
    int32_t begins[BLOCK], ends[BLOCK];
    float sums[2][SCORES], turned[BLOCK * BLOCK];
    uint16_t weights[BLOCK * WEIGHT_STRIDE], changes[BLOCK * WEIGHT_STRIDE];
} beside __attribute__((aligned(64)));

static float uniform(uint64_t seed, uint32_t *at)
{
    return (float)(next(seed, at) % 2001) / 1000 - 1;
}

static beside *random_beside(uint64_t seed)
{
    uint32_t at = 0;
    beside *b = cse_aligned_calloc(sizeof *b);
    for (int i = 0; i < SCORES; i++) {
        b->scores[i] = 8 * uniform(seed, &at);
        b->gradient[i] = uniform(seed, &at);
    }
    for (int i = 0; i < BLOCK; i++) {
        b->statistics[0][i] = 8;
        b->statistics[1][i] = 1 + uniform(seed, &at);
        b->statistics[2][i] = uniform(seed, &at);
        b->begins[i] = (int32_t)(next(seed, &at) % 40);
        b->ends[i] = (int32_t)(next(seed, &at) % 60);
    }
    for (int i = 0; i < 2; i++) {
        fill(b->from[i], BLOCK * MOST_DEPTH, seed, &at, 0);
        fill(b->panels[i], MOST_DEPTH * BLOCK, seed, &at, 0);
    }
    return b;
}

/* Other numbers of rows, columns and chunks, hidden pairs and spans for each seed. */
static void run_beside(const cse_attention_way *way, beside *b, uint64_t seed)
{
    uint32_t at = 1000000;
    const bool ragged = next(seed, &at) % 4 == 0, spans = next(seed, &at) % 4 == 0;
    const int64_t product_rows = ragged ? 1 + next(seed, &at) % BLOCK : BLOCK;
    cse_attention_product products[2];
    for (int i = 0; i < 2; i++) {
        const int64_t depth = CSE_ATTENTION_CHUNK * (1 + next(seed, &at) % 4);
        products[i] = (cse_attention_product){ .from = b->from[i],
                                               .row_stride = depth,
                                               .depth_stride = 1,
                                               .rows = product_rows,
                                               .panel = b->panels[i],
                                               .depth = depth,
                                               .width = BLOCK,
                                               .to = b->sums[i],
                                               .to_stride = BLOCK,
                                               .first = true };
    }
    cse_attention_scores scores = { .scores = b->scores,
                                    .gradient = b->gradient,
                                    .stride = BLOCK,
                                    .rows = ragged ? 1 + next(seed, &at) % BLOCK : BLOCK,
                                    .columns = BLOCK,
                                    .first_seen = (int64_t)(next(seed, &at) % 80) - 60,
                                    .factor = 0.25f,
                                    .maxima = b->statistics[0],
                                    .reciprocals = b->statistics[1],
                                    .means = b->statistics[2],
                                    .paired = true,
                                    .weights = b->weights,
                                    .changes = b->changes,
                                    .paired_stride = WEIGHT_STRIDE,
                                    .turned = b->turned,
                                    .turned_stride = BLOCK,
                                    .by_query = true };
    if (spans)
        scores.spans = (cse_attention_spans){ b->begins, b->ends };
    if (way->begin != NULL)
        way->begin();
    if (way->differentiate_beside != NULL) {
        way->differentiate_beside(&scores, products);
    } else {
        way->multiply(&products[0]);
        way->multiply(&products[1]);
        way->differentiate(&scores);
    }
    if (way->end != NULL)
        way->end();
    for (int i = 0; i < 2; i++) /* rows beyond the last one are nobody's */
        memset(b->sums[i] + product_rows * BLOCK, 0,
               (size_t)((BLOCK - product_rows) * BLOCK) * FLOAT_BYTES);
}

START_TEST(work_beside_products_changes_no_bit)
{
    static const cse_attention_way *const ways[] = { &emulated_amx, &cse_attention_amx };
    const uint64_t seed = 5000 + (uint64_t)_i;
    beside *wanted = random_beside(seed);
    run_beside(&cse_attention_plain_pairs, wanted, seed);
    for (int w = 0; w < 2; w++) {
        /* The emulated tiles lie beside instructions that round to bfloat16. */
        if (w == 0 ? !cse_isa_runs(CSE_ISA_AVX512_BF16) : !ways[w]->runs_here())
            continue;
        beside *got = random_beside(seed);
        run_beside(ways[w], got, seed);
        cse_expect(memcmp(got->sums, wanted->sums, sizeof got->sums) == 0, "case %d: sums", _i);
        cse_expect(memcmp(got->weights, wanted->weights, sizeof got->weights) == 0 &&
                       memcmp(got->changes, wanted->changes, sizeof got->changes) == 0,
                   "case %d: weights or their gradient", _i);
        cse_expect(memcmp(got->turned, wanted->turned, sizeof got->turned) == 0,
                   "case %d: the gradient by query", _i);
        free(got);
    }
    free(wanted);
}
END_TEST

/* ---- results ---- */

/* Results of all bits: most vectors of some cases have nothing that is subnormal or not a number,
 * and those of others hold all kinds. */
START_TEST(results_are_rounded_alike)
{
    enum { ROWS_STORED = 5, COLUMNS = 70, STRIDE = 80, ELEMENTS = ROWS_STORED * STRIDE };
    static const cse_attention_way *const ways[] = { &cse_attention_amx, &cse_attention_avx512_bf16,
                                                     &cse_attention_avx512_pairs,
                                                     &cse_attention_avx2_pairs };
    uint32_t at = 0;
    float *sums = cse_aligned_calloc(ELEMENTS * FLOAT_BYTES);
    uint16_t wanted[ELEMENTS] = { 0 };
    for (int i = 0; i < ELEMENTS; i++) {
        const uint32_t bits = next(9000 + (uint64_t)_i, &at);
        sums[i] =
            cse_float_from_bits(_i % 2 == 0                               ? (bits & 0xbfffffffu)
                                : next(9000 + (uint64_t)_i, &at) % 8 == 0 ? (bits | 0x7f000000u)
                                                                          : (bits & 0x81ffffffu));
    }
    cse_attention_store result = { .from = sums,
                                   .from_stride = STRIDE,
                                   .rows = ROWS_STORED,
                                   .columns = COLUMNS,
                                   .factor = 1,
                                   .positive = _i % 3 == 0,
                                   .dtype = CSE_BFLOAT16,
                                   .to = wanted,
                                   .to_stride = STRIDE };
    cse_attention_plain_pairs.store(&result);
    for (int w = 0; w < 4; w++) {
        uint16_t got[ELEMENTS] = { 0 };
        if (!ways[w]->runs_here())
            continue;
        result.to = got;
        ways[w]->store(&result);
        for (int i = 0; i < ELEMENTS; i++)
            cse_expect(got[i] == wanted[i], "case %d, %s: %a is stored as %04x, not %04x", _i,
                       ways[w]->name, (double)sums[i], got[i], wanted[i]);
    }
    free(sums);
}
END_TEST

/* Words of zeros behind the depth change no sum that does not underflow. */
START_TEST(chunks_of_nothing_change_nothing)
{
    operands o = random_product(112); /* exponents around 0 */
    o.product.first = true;
    o.product.depth = CSE_ATTENTION_CHUNK;
    float *wanted = multiply_by(&cse_attention_plain_pairs, &o);
    const int64_t depth = 2 * CSE_ATTENTION_CHUNK, width = o.product.width;
    float *panel = cse_aligned_calloc((size_t)(depth * width) * FLOAT_BYTES);
    memcpy(panel, o.panel, (size_t)(CSE_ATTENTION_CHUNK * width) * FLOAT_BYTES);
    free(o.panel);
    o.panel = panel;
    o.product.depth = depth;
    o.product.row_stride = 0; /* every row is the first one, and longer than the first chunk */
    float *rows = cse_aligned_calloc((size_t)depth * FLOAT_BYTES);
    memcpy(rows, o.from, CSE_ATTENTION_CHUNK * FLOAT_BYTES);
    free(o.from);
    o.from = rows;
    o.product.rows = 1;
    float *got = multiply_by(&cse_attention_plain_pairs, &o);
    ck_assert_mem_eq(got, wanted, (size_t)width * FLOAT_BYTES);
    free(got);
    free(wanted);
    release(&o);
}
END_TEST

/* The first pair is added in one chain, the second in another: a small product beside large ones
 * that cancel each other is kept or lost by that alone. */
START_TEST(is_the_order_that_is_laid_down)
{
    enum { WIDTH = 16 };
    operands o = { .product = { .row_stride = CSE_ATTENTION_CHUNK,
                                .depth_stride = 1,
                                .rows = 1,
                                .depth = CSE_ATTENTION_CHUNK,
                                .width = WIDTH,
                                .to_stride = WIDTH,
                                .first = true },
                   .sum_count = WIDTH };
    o.from = cse_aligned_calloc(CSE_ATTENTION_CHUNK * FLOAT_BYTES);
    o.panel = cse_aligned_calloc(CSE_ATTENTION_CHUNK * WIDTH * FLOAT_BYTES);
    o.sums = cse_aligned_calloc(WIDTH * FLOAT_BYTES);
    for (int word = 0; word < CSE_ATTENTION_CHUNK; word++)
        for (int column = 0; column < WIDTH; column++)
            o.panel[word * WIDTH + column] = cse_float_from_bits(0x3f803f80); /* 1 and 1 */
    o.from[0] = cse_float_from_bits(0x3f804e80);                              /* 2^30, 1 */
    o.from[1] = cse_float_from_bits(0x0000ce80);                              /* -2^30, 0 */
    float *sums = multiply_by(&cse_attention_plain_pairs, &o);
    ck_assert_float_eq(sums[0], 1);
    free(sums);
    o.from[0] = cse_float_from_bits(0x00004e80); /* 2^30, 0 */
    o.from[1] = cse_float_from_bits(0x00003f80); /* 1, 0 */
    o.from[2] = cse_float_from_bits(0x0000ce80); /* -2^30, 0 */
    sums = multiply_by(&cse_attention_plain_pairs, &o);
    ck_assert_float_eq(sums[0], 0);
    free(sums);
    release(&o);
}
END_TEST

int main(void)
{
    if (!cse_isa_runs(CSE_ISA_AVX512)) {
        printf("the processor has no AVX-512, with which the emulated tiles are handled\n");
        return 77;
    }
    Suite *suite = suite_create("attention tiles");
    TCase *cases = tcase_create("attention tiles");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, all_products_have_the_same_bits, 0, CASES);
    tcase_add_loop_test(cases, work_beside_products_changes_no_bit, 0, BESIDE_CASES);
    tcase_add_loop_test(cases, results_are_rounded_alike, 0, 12);
    tcase_add_test(cases, chunks_of_nothing_change_nothing);
    tcase_add_test(cases, is_the_order_that_is_laid_down);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#else
int main(void)
{
    printf("matrix units are a matter of x86-64\n");
    return 77;
}
#endif
