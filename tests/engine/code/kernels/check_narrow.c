/* Products with 16-bit operands: every combination of types, every way to compute them.
 *
 * The expected bits are computed with fmaf: one chain over k, or, for two bfloat16 operands,
 * the orders of Intel's descriptions of TDPBF16PS and VDPBF16PS (Software Developer's Manual,
 * volume 2), computed here with the processor set to treat subnormal numbers as 0. */
#include "engine/base/instruction_set.h"
#include "engine/code/kernels/convert.h"
#include "engine/code/kernels/matmul_narrow.h"
#include "tests/engine/code/kernels/narrow_fixture.h"
#include "tests/support/sanitized.h"

/* ---- against double precision ---- */

START_TEST(every_combination_of_types)
{
    static const int64_t sizes[][4] = { { 1, 33, 50, 20 }, { 2, 5, 17, 70 }, { 1, 35, 67, 37 } };
    for (int types = 1; types < 64; types++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int flags = SANITIZED ? types % 2 : 0; flags < 4; flags += SANITIZED ? 2 : 1) {
                cse_dtype result = formats[types >> 4];
                product p = { sizes[i][0],
                              sizes[i][1],
                              sizes[i][2],
                              sizes[i][3],
                              flags & 1,
                              flags & 2,
                              result == CSE_FLOAT32 && flags != 3,
                              flags == 1,
                              formats[types & 3],
                              formats[types >> 2 & 3],
                              result };
                kernel_case one;
                char name[200];
                name_of(&p, "best", name, sizeof name);
                build(&p, &one);
                kernel_case_draw(&one, (uint64_t)(types * 8 + flags), -1, 1);
                cse_kernel *kernel = kernel_case_kernel(&one, name);
                kernel_case_compare(&one, kernel, (double)p.k + 40, name);
                kernel_case_same_bits(&one, kernel, 2, name);
                cse_kernel_destroy(&kernel);
                check_orders(&one, &p);
                kernel_case_end(&one);
            }
}
END_TEST

/* Sizes around the borders of tiles, panels and chunks, and few rows of any number. */
START_TEST(every_way_gives_the_same_bits)
{
    static const int64_t sizes[][3] = {
        { 1, 1, 1 },    { 1, 64, 128 },  { 16, 16, 32 },  { 17, 31, 33 },    { 32, 32, 64 },
        { 65, 66, 31 }, { 97, 10, 300 }, { 10, 200, 97 }, { 130, 40, 1100 }, { 30, 500, 250 },
        { 1, 33, 70 },  { 2, 7, 3 },     { 3, 50, 37 },   { 4, 64, 66 },     { 5, 15, 34 },
        { 6, 31, 41 },  { 7, 100, 38 },  { 8, 65, 130 },  { 9, 65, 130 }
    };
    static const cse_dtype operands[][2] = { { CSE_BFLOAT16, CSE_BFLOAT16 },
                                             { CSE_BFLOAT16, CSE_FLOAT32 },
                                             { CSE_CBFLOAT16, CSE_FLOAT16 },
                                             { CSE_FLOAT32, CSE_FLOAT32 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = 0; flags < 16; flags += SANITIZED ? 5 : 1) {
            const cse_dtype *types = operands[flags / 4];
            product p = { 1,
                          sizes[i][0],
                          sizes[i][1],
                          sizes[i][2],
                          flags & 1,
                          flags & 2,
                          flags & 1,
                          flags & 2,
                          types[0],
                          types[1],
                          flags & 1 ? CSE_FLOAT32 : types[0] };
            kernel_case one;
            build(&p, &one);
            draw(&one, (uint64_t)flags, (spread){ -3, 6, 0 });
            check_orders(&one, &p);
            kernel_case_end(&one);
        }
}
END_TEST

/* Depths beyond what is packed of the columns at a time, with sums kept in between. */
START_TEST(deep_products_give_the_same_bits)
{
    static const cse_dtype operands[][2] = { { CSE_BFLOAT16, CSE_BFLOAT16 },
                                             { CSE_FLOAT32, CSE_BFLOAT16 } };
    for (int flags = 0; flags < 8; flags++) {
        const cse_dtype *types = operands[flags / 4];
        const product p = { 1,
                            9,
                            381,
                            flags / 4 == 0 ? 5471 + flags : 2741 + flags,
                            flags & 1,
                            flags & 2,
                            flags & 2,
                            true,
                            types[0],
                            types[1],
                            flags & 2 ? CSE_FLOAT32 : CSE_BFLOAT16 };
        kernel_case one;
        build(&p, &one);
        draw(&one, (uint64_t)flags, (spread){ -3, 6, 0 });
        check_ways(&one, &p, flags / 4 == 0 ? 1 : 0);
        kernel_case_end(&one);
    }
}
END_TEST

/* Gradients of weights: both operands contiguous along their outer indices, with more sums than are
 * kept at a time. */
START_TEST(sliced_products_give_the_same_bits)
{
    static const int64_t sizes[][3] = { { 780, 197, 300 }, { 193, 801, 290 }, { 390, 385, 258 } };
    const int64_t *s = sizes[_i];
    const product p = { 1,
                        s[0],
                        s[1],
                        s[2],
                        true,
                        false,
                        true,
                        _i == 1,
                        CSE_BFLOAT16,
                        CSE_BFLOAT16,
                        _i == 0 ? CSE_BFLOAT16 : CSE_FLOAT32 };
    kernel_case one;
    build(&p, &one);
    draw(&one, (uint64_t)_i, (spread){ -3, 6, 0 });
    check_ways(&one, &p, 0);
    kernel_case_end(&one);
}
END_TEST

/* Several blocks of packed rows, for which the columns are packed piece by piece of the depth, with
 * the sums of all blocks kept in between. */
START_TEST(packed_rows_give_the_same_bits)
{
    static const cse_dtype results[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16 };
    const product p = { 1,       200,     96,          2797,        true,       false,
                        _i == 0, _i == 0, CSE_FLOAT32, CSE_FLOAT32, results[_i] };
    kernel_case one;
    build(&p, &one);
    draw(&one, (uint64_t)_i, (spread){ -3, 6, 0 });
    check_ways(&one, &p, 0);
    kernel_case_end(&one);
}
END_TEST

/* What the comparisons are worth: a way that runs here is the one that was asked for. */
START_TEST(the_wanted_ways_are_used)
{
    static const cse_narrow_way *const known[] = { &cse_narrow_amx, &cse_narrow_dot,
                                                   &cse_narrow_packed, &cse_narrow_avx512,
                                                   &cse_narrow_plain };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int order = CSE_PRODUCT_ORDER_CHAIN; order < CSE_PRODUCT_ORDER_COUNT; order++) {
            product p = {
                1, 5, 7, 8, false, false, false, false, CSE_BFLOAT16, CSE_BFLOAT16, CSE_FLOAT32
            };
            kernel_case one;
            if (!known[i]->runs_here() || (known[i]->orders >> order & 1) == 0)
                continue;
            build(&p, &one);
            one.graph->product_order = (cse_product_order)order;
            setenv("CSE_MATMUL", known[i]->name, 1);
            cse_kernel *kernel = kernel_case_kernel(&one, known[i]->name);
            unsetenv("CSE_MATMUL");
            ck_assert_str_eq(kernel->implementation, known[i]->name);
            cse_kernel_destroy(&kernel);
            kernel_case_end(&one);
        }
}
END_TEST

/* Numbers that overflow, underflow, are subnormal or not finite; the mode of the process is no part
 * of the bfloat16 product. */
START_TEST(extreme_values_give_the_same_bits)
{
    static const spread spreads[] = { { -3, 6, 1 },    { -75, 20, 0 }, { -130, 130, 4 },
                                      { -140, 30, 8 }, { 55, 12, 0 },  { -126, 4, 32 } };
    for (int i = 0; i < 120; i += SANITIZED ? 7 : 1) {
        product p = { 1,
                      33,
                      40,
                      20 + i,
                      i & 1,
                      i & 2,
                      false,
                      i & 4,
                      CSE_BFLOAT16,
                      CSE_BFLOAT16,
                      i & 8 ? CSE_FLOAT32 : CSE_BFLOAT16 };
        kernel_case one;
        build(&p, &one);
        draw(&one, (uint64_t)i, spreads[i % 6]);
        flush_subnormals(i & 16);
        check_orders(&one, &p);
        flush_subnormals(false);
        kernel_case_end(&one);
    }
}
END_TEST

/* ---- against the formulas ---- */

static float operand_at(const kernel_case *one, int leaf, int64_t at)
{
    return (float)cse_read_element(one->nodes[leaf]->dtype, one->values[leaf], at);
}

/* The term of step k in element (i, j), 0 beyond the depth. */
static float add_step(const kernel_case *one, const product *p, const int64_t at[3], float sum)
{
    const int64_t i = at[0], j = at[1], k = at[2];
    if (k >= p->k)
        return fmaf(0, 0, sum);
    return fmaf(operand_at(one, 0, p->transpose_a ? k * p->m + i : i * p->k + k),
                operand_at(one, 1, p->transpose_b ? j * p->k + k : k * p->n + j), sum);
}

static float expected_chain(const kernel_case *one, const product *p, int64_t i, int64_t j)
{
    volatile float sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum = add_step(one, p, (const int64_t[]){ i, j, k }, sum);
    return sum;
}

static float expected_pairs(const kernel_case *one, const product *p, int64_t i, int64_t j)
{
    volatile float sum = 0, parts[2] = { 0, 0 };
    for (int64_t k = 0; k < (p->k + 31) / 32 * 32; k++) {
        parts[k % 2] = add_step(one, p, (const int64_t[]){ i, j, k }, parts[k % 2]);
        if (k % 32 == 31) {
            sum = sum + (parts[0] + parts[1]);
            parts[0] = parts[1] = 0;
        }
    }
    return sum;
}

static float expected_dot(const kernel_case *one, const product *p, int64_t i, int64_t j)
{
    volatile float sum = 0;
    for (int64_t k = 0; k < p->k; k += 2) {
        sum = add_step(one, p, (const int64_t[]){ i, j, k + 1 }, sum);
        sum = add_step(one, p, (const int64_t[]){ i, j, k }, sum);
    }
    return sum;
}

/* Random numbers of every range against the formula of an order, by one of its ways. */
static void check_order(const kernel_case *one, const product *p, int order, const char *way)
{
    char name[200];
    name_of(p, way, name, sizeof name);
    float *got = run_way(one, way, name);
    float *wanted = cse_calloc((size_t)(p->m * p->n), sizeof *wanted);
    const bool narrow = is_bfloat16(p);
    flush_subnormals(narrow);
    for (int64_t e = 0; e < p->m * p->n; e++)
        wanted[e] = (!narrow      ? expected_chain
                     : order == 0 ? expected_pairs
                                  : expected_dot)(one, p, e / p->n, e % p->n);
    flush_subnormals(false);
    check_same(one, got, wanted, name);
    free(got);
    free(wanted);
}

START_TEST(the_order_of_summation)
{
    static const cse_dtype operands[][2] = { { CSE_BFLOAT16, CSE_BFLOAT16 },
                                             { CSE_FLOAT32, CSE_BFLOAT16 },
                                             { CSE_FLOAT16, CSE_FLOAT16 },
                                             { CSE_CBFLOAT16, CSE_CBFLOAT16 } };
    static const spread spreads[] = { { -3, 6, 0 }, { -75, 20, 0 }, { -130, 130, 2 } };
    for (int i = 0; i < 96; i++) {
        const int order = i / 48, number = i % 48;
        const product p = {
            1,          37,    21,    10 + 5 * number,        i & 1,
            i & 2,      false, false, operands[i / 4 % 4][0], operands[i / 4 % 4][1],
            CSE_FLOAT32
        };
        kernel_case one;
        build(&p, &one);
        draw(&one, (uint64_t)i, spreads[i / 4 % 4 == 0 ? number / 16 : 0]);
        check_order(&one, &p, order, ways[order][i % WAYS]);
        kernel_case_end(&one);
    }
}
END_TEST

/* ---- fused and not ---- */

/* relu in the product, and behind it on what it stored. */
START_TEST(a_fused_relu_gives_the_bits_of_an_own_one)
{
    for (int i = 0; i < 12; i++) {
        product p = { 2,
                      19,
                      35,
                      77,
                      i & 1,
                      i & 2,
                      false,
                      true,
                      formats[1 + i % 3],
                      formats[1 + i % 3],
                      formats[1 + i % 3] };
        product bare = p;
        kernel_case with, without;
        bare.relu = false;
        build(&p, &with);
        build(&bare, &without);
        draw(&with, 3, (spread){ -6, 10, 0 });
        draw(&without, 3, (spread){ -6, 10, 0 });
        uint16_t *fused = run_way(&with, ways[i / 3 % ORDERS][i % WAYS], "fused");
        uint16_t *apart = run_way(&without, ways[i / 3 % ORDERS][i % WAYS], "apart");
        for (int64_t e = 0; e < 2 * p.m * p.n; e++) {
            uint16_t wanted = apart[e] & 0x8000 && apart[e] != 0x8000 ? 0 : apart[e];
            ck_assert_msg(fused[e] == wanted, "element %lld is %04x, unfused %04x", (long long)e,
                          fused[e], wanted);
        }
        free(fused);
        free(apart);
        kernel_case_end(&with);
        kernel_case_end(&without);
    }
}
END_TEST

/* The bits that adding it to what the product stored gives. */
static void check_narrow_bias(const product *p, const char *way)
{
    product bare = *p;
    kernel_case with, without;
    bare.bias = bare.relu = false;
    build(p, &with);
    build(&bare, &without);
    draw(&with, 3, (spread){ -6, 10, 0 });
    draw(&without, 3, (spread){ -6, 10, 0 });
    uint16_t *fused = run_way(&with, way, "fused"), *apart = run_way(&without, way, "apart");
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const float bias = (float)cse_read_element(CSE_BFLOAT16, with.values[2], e % p->n);
        const float sum = (float)cse_read_element(CSE_BFLOAT16, apart, e) + bias;
        const uint16_t wanted = cse_round_to_bits(CSE_BFLOAT16, p->relu && sum < 0 ? 0 : sum);
        cse_expect(fused[e] == wanted, "%s: element %lld is %04x, unfused %04x", way, (long long)e,
                   fused[e], wanted);
    }
    free(fused);
    free(apart);
    kernel_case_end(&with);
    kernel_case_end(&without);
}

START_TEST(a_bias_of_bfloat16_is_added_to_the_rounded_sum)
{
    static const int64_t sizes[][3] = {
        { 3, 67, 40 }, { 33, 97, 70 }, { 65, 64, 300 }, { 385, 390, 257 }
    };
    const int64_t *s = sizes[_i];
    for (int order = 0; order < ORDERS; order++)
        for (int w = 0; w < WAYS; w++) {
            const product p = { 1,    s[0],  s[1],         s[2],         _i == 3,     w & 1,
                                true, w & 2, CSE_BFLOAT16, CSE_BFLOAT16, CSE_BFLOAT16 };
            check_narrow_bias(&p, ways[order][w]);
        }
}
END_TEST

/* ---- conversion of arrays ---- */

/* All 65536 values of each format, and what lies between and beside neighbours, with each
 * instruction set. */
START_TEST(arrays_are_converted_exactly)
{
    enum { COUNT = 65536 };
    static uint16_t bits[COUNT], rounded[COUNT];
    static float values[COUNT], near[COUNT];
    cse_isa_limit((cse_isa)(_i / 6));
    cse_dtype dtype = formats[1 + _i % 3];
    for (int i = 0; i < COUNT; i++)
        bits[i] = (uint16_t)i;
    flush_subnormals(_i % 6 >= 3);
    cse_widen(dtype, bits, values, COUNT);
    flush_subnormals(false);
    for (int i = 0; i < COUNT; i++) {
        float wanted = dtype == CSE_BFLOAT16 ? cse_float_from_bfloat16(bits[i])
                                             : cse_float_from_format(dtype, bits[i]);
        ck_assert_msg(memcmp(&values[i], &wanted, sizeof wanted) == 0 ||
                          (isnan(values[i]) && isnan(wanted)),
                      "%s %04x became %a", cse_dtype_name(dtype), (unsigned)i, (double)values[i]);
    }
    for (int shift = -3; shift <= 3; shift++) {
        int step = dtype == CSE_BFLOAT16 ? 16 : dtype == CSE_FLOAT16 ? 13 : 14;
        for (int i = 0; i < COUNT; i++) {
            uint32_t about = cse_float_bits(values[i]) + (1u << (step - 1)) * (shift % 2 != 0);
            near[i] = cse_float_from_bits(about + (uint32_t)(shift / 2));
        }
        flush_subnormals(_i % 6 >= 3);
        cse_narrow(dtype, near, rounded, COUNT);
        flush_subnormals(false);
        for (int i = 0; i < COUNT; i++) {
            uint16_t wanted = cse_round_to_bits(dtype, near[i]);
            ck_assert_msg(rounded[i] == wanted, "%a became %s %04x, not %04x", (double)near[i],
                          cse_dtype_name(dtype), rounded[i], wanted);
        }
    }
}
END_TEST

/* No element beyond the count is read or written. */
START_TEST(arrays_of_any_length)
{
    cse_isa_limit((cse_isa)_i);
    for (int64_t count = 0; count < 40; count++) {
        float wide[48];
        uint16_t narrow[48];
        for (int i = 0; i < 48; i++) {
            wide[i] = (float)i;
            narrow[i] = 0xabcd;
        }
        cse_narrow(CSE_FLOAT16, wide, narrow, count);
        cse_widen(CSE_FLOAT16, narrow, wide + 1, count);
        for (int64_t i = 0; i < 48; i++)
            ck_assert_uint_eq(narrow[i],
                              i < count ? cse_round_to_bits(CSE_FLOAT16, (float)i) : 0xabcd);
        for (int64_t i = 1; i < 48; i++)
            ck_assert(wide[i] == (float)(i <= count ? i - 1 : i));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("narrow");
    TCase *cases = tcase_create("narrow");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, every_combination_of_types);
    tcase_add_test(cases, every_way_gives_the_same_bits);
    tcase_add_test(cases, deep_products_give_the_same_bits);
    tcase_add_loop_test(cases, a_bias_of_bfloat16_is_added_to_the_rounded_sum, 0, 4);
    tcase_add_loop_test(cases, sliced_products_give_the_same_bits, 0, 3);
    tcase_add_loop_test(cases, packed_rows_give_the_same_bits, 0, 3);
    tcase_add_test(cases, the_wanted_ways_are_used);
    tcase_add_test(cases, extreme_values_give_the_same_bits);
    tcase_add_test(cases, the_order_of_summation);
    tcase_add_test(cases, a_fused_relu_gives_the_bits_of_an_own_one);
    tcase_add_loop_test(cases, arrays_are_converted_exactly, 0, 6 * (CSE_ISA_AVX512 + 1));
    tcase_add_loop_test(cases, arrays_of_any_length, 0, CSE_ISA_AVX512 + 1);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
