/* run/contracts/prescribed_gradients.h for tests: what fails ends the test with its message. */
#include "tests/support/prescribed_gradients.h"

#include <check.h>

void prescribed_run_open(prescribed_run *run, const prescribed_gradients *given)
{
    ck_assert_msg(cse_prescribed_run_open(run, given) == CSE_OK, "%s", cse_error_message());
}

const char *prescribed_failure(const prescribed_gradients *given)
{
    prescribed_run run;
    cse_prescribed_run_prepare(&run, given);
    const char *message = traced_failure(run.file.yaml, cse_prescribed_step, &run);
    table_file_remove(&run.file);
    return message;
}
