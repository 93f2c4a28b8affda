/* The matrix units' product of bfloat16 numbers against its two emulations, bit for bit: a million
 * results over every range of exponents, with everything that overflows, underflows, is subnormal
 * or not finite. Ends with 77 where the processor or the system has no such units. */
#include "engine/code/kernels/matmul_narrow.h"
#include "tests/engine/code/kernels/narrow_fixture.h"

enum { SKIPPED = 77, PRODUCTS = 40, BANDS = 16 };

/* Band i has exponents around those for which the products' exponents are 32 (i - 8): from where
 * everything is lost to where everything overflows. */
START_TEST(emulations_give_the_bits_of_the_units)
{
    for (int i = 0; i < PRODUCTS; i++) {
        const product p = { 1,     48,    40,           33 + 7 * i,   i & 1,      i & 2,
                            false, false, CSE_BFLOAT16, CSE_BFLOAT16, CSE_FLOAT32 };
        kernel_case one;
        build(&p, &one);
        draw(&one, (uint64_t)(_i * PRODUCTS + i),
             (spread){ 16 * (_i - BANDS / 2) - i, 1 + 2 * i, i % 3 == 2 ? i : 0 });
        flush_subnormals(i & 4);
        check_ways(&one, &p, 0);
        flush_subnormals(false);
        kernel_case_end(&one);
    }
}
END_TEST

/* What the comparison is worth: the units are what "amx" asks for. */
START_TEST(the_units_are_used)
{
    const product p = { 1,     32,    32,           32,           false,      false,
                        false, false, CSE_BFLOAT16, CSE_BFLOAT16, CSE_FLOAT32 };
    kernel_case one;
    build(&p, &one);
    cse_kernel *kernel = kernel_case_kernel(&one, "units");
    ck_assert_str_eq(kernel->implementation, "amx");
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}
END_TEST

int main(void)
{
    if (!cse_narrow_amx.runs_here()) {
        printf(
            "the processor has no matrix units for bfloat16, or the system does not lend them\n");
        return SKIPPED;
    }
    Suite *suite = suite_create("matrix units");
    TCase *cases = tcase_create("matrix units");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, the_units_are_used);
    tcase_add_loop_test(cases, emulations_give_the_bits_of_the_units, 0, BANDS);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
