/* The contract of every input function: run/contracts/of_input.c. */
#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"
#include "tests/samples/contract.h"

START_TEST(the_contract_is_kept)
{
    contract_check("input", cse_inputs, _i);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("inputs");
    tcase_add_loop_test(tests, the_contract_is_kept, 0, contract_count(cse_inputs));
    return fixture_run(tests);
}
