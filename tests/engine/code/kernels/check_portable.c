/* Kernels of portable graphs: as the reference kernels within a bound, and of the same bits with
 * each instruction set that this machine has, for random sizes. */
#include <stdio.h>

#include "engine/base/instruction_set.h"
#include "tests/engine/code/kernels/fixture.h"

static int64_t draw(uint64_t seed, uint32_t what, int64_t low, int64_t high)
{
    uint32_t counter[4] = { what, 0, 17, 0 }, words[4];
    cse_philox(seed, counter, words);
    return low + words[0] % (high - low + 1);
}

/* Makes the case's kernel with each instruction set, from AVX2 on. */
static void check_sets(kernel_case *one, double terms, const char *name)
{
    char text[200];
    one->graph->portable = true;
    kernel_case_close(one);
    kernel_case_draw(one, 3, -1, 1);
    const size_t size = kernel_case_output_bytes(one);
    unsigned char *first = cse_calloc(size + 1, 1), *other = cse_calloc(size + 1, 1);
    for (int isa = CSE_ISA_AVX2; isa <= (int)cse_isa_of_processor(); isa++) {
        cse_isa_limit((cse_isa)isa);
        cse_kernel *kernel = kernel_case_kernel(one, name);
        ck_assert_ptr_nonnull(kernel->order); /* our own */
        snprintf(text, sizeof text, "%s (%s on %s)", name, kernel->implementation,
                 cse_isa_name((cse_isa)isa));
        kernel_case_compare(one, kernel, terms, text);
        kernel_case_same_bits(one, kernel, 3, text);
        kernel_case_run(one, kernel, 1, isa == CSE_ISA_AVX2 ? first : other);
        cse_expect(isa == CSE_ISA_AVX2 || memcmp(first, other, size) == 0,
                   "%s: other bits than with avx2", text);
        cse_kernel_destroy(&kernel);
    }
    cse_isa_limit(CSE_ISA_COUNT);
    free(first);
    free(other);
    kernel_case_end(one);
}

typedef struct convolution {
    cse_conv2d_options options;
    cse_shape x, w, y;
    cse_dtype dtype;
} convolution;

/* Channels around the widths of vectors; padding that reaches beyond whole rows. */
static convolution draw_convolution(uint64_t seed)
{
    static const int64_t channels[] = { 1, 3, 7, 8, 9, 16, 17, 24 };
    convolution c = { .dtype = seed % 3 == 2 ? CSE_BFLOAT16 : CSE_FLOAT32 };
    const int64_t groups = draw(seed, 0, 0, 3) == 0 ? 2 : 1;
    const int64_t in = channels[draw(seed, 1, 0, 7)], out = channels[draw(seed, 2, 0, 7)];
    int64_t sizes[2], made[2], kernel[2];
    c.options.groups = groups;
    for (uint32_t i = 0; i < 2; i++) {
        kernel[i] = draw(seed, 10 + i, 1, 5);
        c.options.stride[i] = draw(seed, 20 + i, 1, 3);
        c.options.padding[i] = draw(seed, 30 + i, 0, 4);
        c.options.dilation[i] = draw(seed, 40 + i, 1, 2);
        const int64_t reach = c.options.dilation[i] * (kernel[i] - 1) + 1;
        sizes[i] = draw(seed, 50 + i, reach > 3 ? reach - 3 : 1, 13);
        sizes[i] = sizes[i] + 2 * c.options.padding[i] < reach ? reach : sizes[i];
        made[i] = (sizes[i] + 2 * c.options.padding[i] - reach) / c.options.stride[i] + 1;
    }
    const int64_t batch = draw(seed, 60, 1, 4);
    c.x = cse_shape_of(batch, in * groups, sizes[0], sizes[1]);
    c.w = cse_shape_of(out * groups, in, kernel[0], kernel[1]);
    c.y = cse_shape_of(batch, out * groups, made[0], made[1]);
    return c;
}

START_TEST(convolutions)
{
    const convolution c = draw_convolution((uint64_t)_i);
    const int64_t taps = c.w.dims[2] * c.w.dims[3];
    kernel_case one;
    kernel_case_begin(&one);
    cse_node *x = kernel_case_leaf(&one, c.x, c.dtype), *w = kernel_case_leaf(&one, c.w, c.dtype);
    const bool with_bias = c.dtype == CSE_FLOAT32 && _i % 2 == 0;
    cse_node *bias =
        with_bias ? kernel_case_leaf(&one, cse_shape_of(c.w.dims[0]), CSE_FLOAT32) : NULL;
    cse_node *y = cse_conv2d(x, w, bias, &c.options);
    kernel_case_add(&one, with_bias ? y->inputs[0] : y);
    if (with_bias) {
        kernel_case_add(&one, y->inputs[1]->inputs[0]);
        kernel_case_add(&one, y->inputs[1]);
        kernel_case_add(&one, y);
    }
    if (_i % 4 < 2)
        kernel_case_add(&one, cse_relu(y));
    check_sets(&one, (double)(c.w.dims[1] * taps + 1), "conv2d");
}
END_TEST

START_TEST(gradients_of_convolutions)
{
    const convolution c = draw_convolution((uint64_t)_i);
    for (int which = 0; which < 2; which++) {
        kernel_case one;
        kernel_case_begin(&one);
        cse_node *x = kernel_case_leaf(&one, c.x, c.dtype);
        cse_node *w = kernel_case_leaf(&one, c.w, c.dtype);
        cse_node *dy = kernel_case_leaf(&one, c.y, c.dtype);
        cse_node *like = cse_conv2d(x, w, NULL, &c.options);
        kernel_case_add(&one, which ? cse_conv2d_gradient_weight(x, dy, c.w, like)
                                    : cse_conv2d_gradient_input(w, dy, c.x, like));
        const int64_t positions = c.y.dims[0] * (c.y.dims[2] * c.y.dims[3] + 1);
        const int64_t taps = c.y.dims[1] * c.w.dims[2] * c.w.dims[3];
        check_sets(&one, (double)(which ? positions : taps),
                   which ? "conv2d_gradient_weight" : "conv2d_gradient_input");
    }
}
END_TEST

/* Depths around the chunks of each implementation. */
START_TEST(products)
{
    static const int64_t depths[] = { 1, 31, 264, 383, 384, 385, 513, 790 };
    const uint64_t seed = (uint64_t)_i;
    const cse_dtype dtype = _i % 3 == 2 ? CSE_BFLOAT16 : CSE_FLOAT32;
    const bool a = _i & 1, b = _i & 2;
    const int64_t m = draw(seed, 0, 1, 140), n = draw(seed, 1, 1, 140);
    const int64_t k = depths[draw(seed, 2, 0, 7)];
    const cse_attributes transposes = { .integer_count = 2, .integers = { a, b } };
    kernel_case one;
    kernel_case_begin(&one);
    cse_node *operands[2] = {
        kernel_case_leaf(&one, a ? cse_shape_of(k, m) : cse_shape_of(m, k), dtype),
        kernel_case_leaf(&one, b ? cse_shape_of(n, k) : cse_shape_of(k, n), dtype)
    };
    kernel_case_add(&one, cse_trace(&cse_op_matmul, &transposes, 2, operands));
    check_sets(&one, (double)k + 2, "matmul");
}
END_TEST

/* ---- the choice ---- */

START_TEST(limits)
{
    ck_assert_int_eq(cse_isa_from_name("avx2"), CSE_ISA_AVX2);
    ck_assert_int_eq(cse_isa_from_name("sse"), CSE_ISA_COUNT);
    for (int isa = 0; isa < CSE_ISA_COUNT; isa++) {
        const cse_isa most = cse_isa_of_processor();
        ck_assert_int_eq(cse_isa_from_name(cse_isa_name((cse_isa)isa)), isa);
        cse_isa_limit((cse_isa)isa);
        ck_assert_int_eq(cse_isa_of_host(), (cse_isa)isa < most ? (cse_isa)isa : most);
        ck_assert(cse_isa_runs(CSE_ISA_BASELINE));
        ck_assert(!cse_isa_runs((cse_isa)(isa + 1)));
    }
    setenv("CSE_ISA", "baseline", 1);
    cse_isa_limit(CSE_ISA_COUNT);
    ck_assert_int_eq(cse_isa_of_host(), CSE_ISA_BASELINE);
    ck_assert_int_eq(cse_isa_check(), CSE_OK);
    setenv("CSE_ISA", "avx1024", 1);
    cse_isa_limit(CSE_ISA_COUNT);
    ck_assert_int_eq(cse_isa_of_host(), cse_isa_of_processor());
    ck_assert_int_eq(cse_isa_check(), CSE_CONFIG);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "avx512_bf16"));
    unsetenv("CSE_ISA");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("portable");
    TCase *cases = tcase_create("portable");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, convolutions, 0, 60);
    tcase_add_loop_test(cases, gradients_of_convolutions, 0, 60);
    tcase_add_loop_test(cases, products, 0, 48);
    tcase_add_test(cases, limits);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
