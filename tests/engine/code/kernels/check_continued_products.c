/* Products whose sums go on from those of another: of a depth that is cut in two, all ways give the
 * bits of the product over the whole depth. */
#include "tests/engine/code/kernels/narrow_fixture.h"
#include "tests/support/sanitized.h"

static double value_of(int side, int64_t i, int64_t k)
{
    uint32_t counter[4] = { (uint32_t)i, (uint32_t)k, (uint32_t)side, 0 }, words[4];
    cse_philox(11, counter, words);
    return 2 * (double)cse_uniform_from_bits(words[0]) - 1;
}

/* One operand: [depth, size] where it is transposed as a (or not as b), else [size, depth]. */
static cse_node *operand(kernel_case *one, int64_t size, int64_t depth, bool depth_first,
                         cse_dtype dtype)
{
    return kernel_case_leaf(
        one, depth_first ? cse_shape_of(depth, size) : cse_shape_of(size, depth), dtype);
}

/* The product of steps [first, end) of the depth; `goes_on`: its sums begin with a third input. */
static void build_part(const product *p, int64_t first, int64_t end, bool goes_on, kernel_case *one)
{
    const cse_attributes transposes = { .integer_count = 2,
                                        .integers = { p->transpose_a, p->transpose_b } };
    kernel_case_begin(one);
    cse_node *inputs[3] = { operand(one, p->m, end - first, p->transpose_a, p->a),
                            operand(one, p->n, end - first, !p->transpose_b, p->b),
                            kernel_case_leaf(one, cse_shape_of(p->m, p->n), CSE_FLOAT32) };
    cse_node *last = cse_trace(&cse_op_matmul, &transposes, goes_on ? 3 : 2, inputs);
    last->dtype = CSE_FLOAT32;
    kernel_case_add(one, last);
    kernel_case_close(one);
    for (int side = 0; side < 2; side++) {
        const int64_t size = side == 0 ? p->m : p->n, depth = end - first;
        const bool depth_first = side == 0 ? p->transpose_a : !p->transpose_b;
        for (int64_t i = 0; i < size; i++)
            for (int64_t k = 0; k < depth; k++)
                cse_write_element(inputs[side]->dtype, one->values[side],
                                  depth_first ? k * size + i : i * depth + k,
                                  value_of(side, i, first + k));
    }
}

static void check_cut(const product *p, int64_t cut, const char *way)
{
    kernel_case whole, parts[2];
    char name[200];
    name_of(p, way, name, sizeof name);
    build_part(p, 0, p->k, false, &whole);
    build_part(p, 0, cut, false, &parts[0]);
    build_part(p, cut, p->k, true, &parts[1]);
    void *expected = run_way(&whole, way, name), *sums = run_way(&parts[0], way, name);
    memcpy(parts[1].values[2], sums, (size_t)(p->m * p->n) * sizeof(float));
    void *got = run_way(&parts[1], way, name);
    check_same(&whole, expected, got, name);
    free(expected);
    free(sums);
    free(got);
    kernel_case_end(&whole);
    kernel_case_end(&parts[0]);
    kernel_case_end(&parts[1]);
}

/* m, n, k, and where the depth is cut: at multiples of 32, as an order of 32 steps demands. */
static const int64_t sizes[][4] = {
    { 1, 1, 33, 32 },     { 17, 31, 65, 32 },    { 70, 40, 300, 160 },
    { 40, 70, 1100, 96 }, { 200, 130, 801, 32 }, { 33, 450, 96, 64 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(bits_are_those_of_the_whole_depth)
{
    static const char *const all[] = { "pairs:amx",   "pairs:avx512",    "pairs:avx2",
                                       "pairs:plain", "dot:avx512_bf16", "dot:avx512",
                                       "dot:avx2",    "dot:plain" };
    const int64_t *s = sizes[_i];
    for (int flags = 0; flags < 4; flags += SANITIZED ? 3 : 1)
        for (int types = 0; types < 2; types++)
            for (size_t w = 0; w < sizeof all / sizeof *all; w++) {
                const cse_dtype dtype = types == 0 ? CSE_BFLOAT16 : CSE_FLOAT32;
                const product p = { 1,     s[0],  s[1],  s[2],  flags & 1,  flags & 2,
                                    false, false, dtype, dtype, CSE_FLOAT32 };
                check_cut(&p, s[3], all[w]);
            }
}
END_TEST

/* More sums than the matrix units keep at a time, of operands contiguous along the rows. */
START_TEST(bits_of_sliced_products)
{
    static const char *const all[] = { "pairs:amx", "pairs:avx512", "pairs:avx2" };
    const product p = { 1,     400,   380,          352,          true,       false,
                        false, false, CSE_BFLOAT16, CSE_BFLOAT16, CSE_FLOAT32 };
    for (size_t w = 0; w < sizeof all / sizeof *all; w++)
        check_cut(&p, 32, all[w]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("continued products");
    TCase *cases = tcase_create("continued products");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, bits_of_sliced_products);
    tcase_add_loop_test(cases, bits_are_those_of_the_whole_depth, 0, SIZES);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
