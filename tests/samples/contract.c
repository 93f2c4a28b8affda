/* A failed check ends the test, which runs in a process of its own. */
#include "tests/samples/contract.h"

#include <check.h>
#include <stdlib.h>

#include "run/contracts/contract.h"
#include "tests/samples/samples.h"
#include "tests/support/temporary_folder.h"

int contract_count(const void *table)
{
    int count = 0;
    while (((const void *const *)table)[count] != NULL)
        count++;
    return count;
}

static void expect_passed(const cse_contract *contract, const char *check, cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s %s %s: %s", contract->kind, contract->plugin, check,
                  cse_error_message());
}

void contract_check(const char *kind, const void *table, int index)
{
    char folder[] = "/tmp/cse_contract_XXXXXX";
    cse_contract contract = { .told = expect_passed, .samples_of = cse_samples_find };
    contract.folder = mkdtemp(folder);
    ck_assert_ptr_nonnull(contract.folder);
    cse_contract_check(&contract, kind, ((const void *const *)table)[index]);
    ck_assert_int_gt(contract.checks, 1);
    ck_assert(temporary_folder_remove(folder));
}
