/* run/contracts/traced_run.h for tests: what fails ends the test with its message. */
#include "tests/support/traced_run.h"

#include <check.h>

#include "engine/code/codegen/codegen.h"
#include "tests/support/open_loader.h"

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

void table_file_write(table_file *file, const table_content *content)
{
    must(cse_table_file_write(file, content));
}

void open_session(void)
{
    must(cse_traced_session());
}

void traced_run_open(traced_run *t, const char *yaml, cse_step_function *function, void *self)
{
    must(cse_traced_run_open(t, yaml, function, self));
}

void traced_run_open_compiled(traced_run *t, const char *yaml, cse_step_function *function,
                              void *self, const char *compile_dir)
{
    cse_compile_result compiled;
    must(cse_traced_run_plan(t, yaml, function, self));
    must(cse_codegen_compile(t->step->graph, compile_dir, &compiled));
    must(cse_executable_open(compiled.directory, &t->executable));
    cse_traced_run_begin(t);
}

void traced_run_step(traced_run *t)
{
    must(cse_traced_run_step(t));
}

float *traced_floats(const traced_run *t, const char *name)
{
    float *values = straight_run_state(&t->run, name);
    ck_assert_msg(values != NULL, "there is no state '%s'", name);
    return values;
}

int32_t traced_int(const traced_run *t, const char *name)
{
    return *(int32_t *)(void *)traced_floats(t, name);
}

const char *traced_failure(const char *yaml, cse_step_function *function, void *self)
{
    cse_dataloader *loader = NULL;
    cse_step *step = NULL;
    must(open_loader(yaml, 1, &loader));
    cse_status status =
        cse_step_trace(cse_session_open_view("test"), loader, function, self, &step);
    ck_assert_int_ne(status, CSE_OK);
    cse_step_destroy(&step);
    cse_dataloader_close(&loader);
    return cse_error_message();
}
