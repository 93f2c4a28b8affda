/* Short names of run/contracts/traced_run.h; a failure fails the running test. */
#ifndef CSE_TESTS_SUPPORT_TRACED_RUN_H
#define CSE_TESTS_SUPPORT_TRACED_RUN_H

#include "run/contracts/traced_run.h"
#include "tests/support/straight_run.h"

#define traced_run cse_traced_run
#define table_file cse_table_file
#define table_content cse_table_content
#define table_file_remove cse_table_file_remove
#define traced_run_close cse_traced_run_close

void table_file_write(table_file *file, const table_content *content);

/* Opens a session with seed 1. */
void open_session(void);

void traced_run_open(traced_run *traced, const char *yaml, cse_step_function *function, void *self);
/* The same by compiled code, which is kept under `compile_dir`. */
void traced_run_open_compiled(traced_run *traced, const char *yaml, cse_step_function *function,
                              void *self, const char *compile_dir);
void traced_run_step(traced_run *traced);

/* Values of a state before the next step. */
float *traced_floats(const traced_run *traced, const char *name);
int32_t traced_int(const traced_run *traced, const char *name);

/* Traces a step that must fail and returns the message. */
const char *traced_failure(const char *yaml, cse_step_function *function, void *self);

#endif
