/* The contract of every callback: run/contracts/of_callback.c. */
#include <check.h>

#include "run/job/callbacks.h"
#include "tests/samples/contract.h"

START_TEST(the_contract_is_kept)
{
    contract_check("callback", cse_callbacks, _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_callbacks));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
