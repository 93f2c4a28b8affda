/* The number of a machine's products: the same each time, another one where products have other
 * bits. */
#include <check.h>
#include <stdlib.h>

#include "engine/base/instruction_set.h"
#include "engine/code/execute/self_test.h"

START_TEST(other_bits_are_another_number)
{
    const uint64_t number = cse_kernel_self_test();
    ck_assert_uint_eq(cse_kernel_self_test(), number);
    setenv("CSE_MATMUL", "onednn", 1); /* sums in another order */
    const uint64_t other = cse_kernel_self_test();
    unsetenv("CSE_MATMUL");
    if (cse_isa_of_host() != CSE_ISA_BASELINE) /* where plain C takes oneDNN's place */
        ck_assert_uint_ne(other, number);
    ck_assert_uint_eq(cse_kernel_self_test(), number);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("self_test");
    TCase *tests = tcase_create("self_test");
    tcase_add_test(tests, other_bits_are_another_number);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
