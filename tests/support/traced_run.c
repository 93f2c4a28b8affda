/* Traces a step function, plans it, and runs it by straight_run.h. */
#include "tests/support/traced_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/codegen/codegen.h"
#include "engine/passes/pass.h"
#include "tests/support/open_loader.h"

void table_file_write(table_file *file, const table_content *c)
{
    snprintf(file->path, sizeof file->path, "/tmp/cse_table_XXXXXX");
    int descriptor = mkstemp(file->path);
    ck_assert_int_ge(descriptor, 0);
    FILE *out = fdopen(descriptor, "w");
    for (int column = 0; column < c->columns; column++)
        fprintf(out, "c%d,", column);
    fprintf(out, "label\n");
    for (int row = 0; row < c->rows; row++) {
        for (int column = 0; column < c->columns; column++)
            fprintf(out, "%.9g,", c->features[row * c->columns + column]);
        fprintf(out, "%d\n", c->labels ? c->labels[row] : 0);
    }
    fclose(out);
    snprintf(file->yaml, sizeof file->yaml,
             "{data_processor: csv, path: %s, label: label, regression: %s, batch_size: %d, "
             "micro_batch_size: %d, shuffle: false}",
             file->path, c->classes > 0 ? "false" : "true", c->batch_size, c->micro_batch_size);
}

void table_file_remove(const table_file *file)
{
    unlink(file->path);
}

void open_session(void)
{
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .seed = 1 }),
                     CSE_OK);
}

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void plan(traced_run *t, const char *yaml, cse_step_function *function, void *self)
{
    *t = (traced_run){ .loader = NULL };
    must(cse_session_status());
    must(open_loader(yaml, 1, &t->loader));
    must(cse_step_trace(cse_session_open_view("test"), t->loader, function, self, &t->step));
    must(cse_passes_run(t->step->graph, NULL));
}

static void begin(traced_run *t)
{
    straight_run_init(&t->run, t->executable, 1);
    int count = t->step->graph->microbatch_count;
    t->inputs = cse_calloc((size_t)count, sizeof *t->inputs);
    for (int m = 0; m < count; m++)
        t->inputs[m] = cse_aligned_calloc((size_t)cse_dataloader_microbatch_bytes(t->loader));
}

void traced_run_open(traced_run *t, const char *yaml, cse_step_function *function, void *self)
{
    plan(t, yaml, function, self);
    must(cse_executable_interpret(t->step->graph, &t->executable));
    begin(t);
}

void traced_run_open_compiled(traced_run *t, const char *yaml, cse_step_function *function,
                              void *self, const char *compile_dir)
{
    cse_compile_result compiled;
    plan(t, yaml, function, self);
    must(cse_codegen_compile(t->step->graph, compile_dir, &compiled));
    must(cse_executable_open(compiled.directory, &t->executable));
    begin(t);
}

void traced_run_step(traced_run *t)
{
    for (int m = 0; m < t->step->graph->microbatch_count; m++)
        must(cse_dataloader_read(t->loader, t->run.step, m, t->inputs[m]));
    straight_run_step(&t->run, t->inputs);
}

void traced_run_close(traced_run *t)
{
    for (int m = 0; m < t->step->graph->microbatch_count; m++)
        free(t->inputs[m]);
    free(t->inputs);
    straight_run_clear(&t->run);
    cse_executable_destroy(&t->executable);
    cse_step_destroy(&t->step);
    cse_dataloader_close(&t->loader);
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
