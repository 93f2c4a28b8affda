/* Short names of run/contracts/prescribed_gradients.h; a failure fails the running test. */
#ifndef CSE_TESTS_SUPPORT_PRESCRIBED_GRADIENTS_H
#define CSE_TESTS_SUPPORT_PRESCRIBED_GRADIENTS_H

#include "run/contracts/prescribed_gradients.h"
#include "tests/support/traced_run.h"

#define prescribed_gradients cse_prescribed_gradients
#define prescribed_run cse_prescribed_run
#define prescribed_run_close cse_prescribed_run_close
#define prescribed_optimizer cse_prescribed_optimizer

enum {
    PRESCRIBED_ELEMENTS = CSE_PRESCRIBED_ELEMENTS,
    PRESCRIBED_MOST_ROWS = CSE_PRESCRIBED_MOST_ROWS
};

void prescribed_run_open(prescribed_run *run, const prescribed_gradients *given);

/* The message of a step that cannot be traced. */
const char *prescribed_failure(const prescribed_gradients *given);

#endif
