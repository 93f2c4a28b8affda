/* The contract of every logger: run/contracts/of_logger.c. */
#include <check.h>

#include "run/loggers/logger.h"
#include "tests/samples/contract.h"

START_TEST(the_contract_is_kept)
{
    contract_check("logger", cse_loggers, _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loggers");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_loggers));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
