/* Scratch memory that kernels share: one buffer per owner, as large as the largest request. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/code/kernels/scratch.h"

START_TEST(one_place_for_each_owner)
{
    static int owners[2];
    cse_scratch *small = cse_scratch_share(&owners[0], 100);
    cse_scratch *other = cse_scratch_share(&owners[1], 100);
    cse_scratch *large = cse_scratch_share(&owners[0], 1000000);
    ck_assert_ptr_eq(small, large);
    ck_assert_ptr_ne(small, other);
    unsigned char *place = cse_scratch_view(small), *other_place = cse_scratch_view(other);
    ck_assert_uint_eq((uintptr_t)place % 64, 0);
    memset(place, 1, 1000000);
    memset(other_place, 2, 100);
    ck_assert_int_eq(place[0] + place[999999], 2);
    cse_scratch_release(&small);
    ck_assert_ptr_null(small);
    ck_assert_ptr_eq(cse_scratch_view(large), place); /* still in use */
    cse_scratch_release(&large);
    cse_scratch_release(&other);
    cse_scratch_release(&other); /* nothing is left to release */
}
END_TEST

START_TEST(nothing_is_enough_for_nothing)
{
    static int owner;
    cse_scratch *none = cse_scratch_share(&owner, 0);
    ck_assert_ptr_nonnull(cse_scratch_view(none));
    cse_scratch_release(&none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scratch");
    TCase *cases = tcase_create("scratch");
    tcase_add_test(cases, one_place_for_each_owner);
    tcase_add_test(cases, nothing_is_enough_for_nothing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
