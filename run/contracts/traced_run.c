/* Traces a step function, plans it, and runs it by straight_run.h. */
#include "run/contracts/traced_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/graph/passes/pass.h"

cse_status cse_table_file_write(cse_table_file *file, const cse_table_content *c)
{
    snprintf(file->path, sizeof file->path, "/tmp/cse_table_XXXXXX");
    int descriptor = mkstemp(file->path);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (out == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", file->path, strerror(errno));
    for (int column = 0; column < c->columns; column++)
        fprintf(out, "c%d,", column);
    fprintf(out, "label\n");
    for (int row = 0; row < c->rows; row++) {
        for (int column = 0; column < c->columns; column++)
            fprintf(out, "%.9g,", c->features[row * c->columns + column]);
        fprintf(out, "%d\n", c->labels ? c->labels[row] : 0);
    }
    snprintf(file->yaml, sizeof file->yaml,
             "{data_processor: csv, path: %s, label: label, regression: %s, batch_size: %d, "
             "micro_batch_size: %d, shuffle: false}",
             file->path, c->classes > 0 ? "false" : "true", c->batch_size, c->micro_batch_size);
    return fclose(out) == 0 ? CSE_OK : cse_fail(CSE_IO, "%s: %s", file->path, strerror(errno));
}

void cse_table_file_remove(const cse_table_file *file)
{
    unlink(file->path);
}

cse_status cse_loader_open(const char *yaml, uint64_t default_seed, cse_dataloader **loader)
{
    cse_arena *arena = cse_arena_new();
    cse_settings *settings = NULL;
    cse_yaml_node *tree = NULL;
    *loader = NULL;
    cse_status status = cse_yaml_parse(arena, "", yaml, yaml != NULL ? strlen(yaml) : 0, &tree);
    status = status == CSE_OK ? cse_dataloader_settings_read(arena, tree, &settings)
                              : cse_fail_within(status, "data loader: ");
    if (status == CSE_OK)
        status = cse_dataloader_open(settings, default_seed, loader);
    cse_arena_destroy(&arena);
    return status;
}

cse_status cse_traced_session(void)
{
    return cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .seed = 1 });
}

cse_status cse_traced_run_plan(cse_traced_run *t, const char *yaml, cse_step_function *function,
                               void *self)
{
    *t = (cse_traced_run){ .loader = NULL };
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_loader_open(yaml, 1, &t->loader));
    CSE_TRY(cse_step_trace(cse_session_open_view("cse_traced_run_plan"), t->loader, function, self,
                           &t->step));
    return cse_passes_run(t->step->graph, NULL);
}

void cse_traced_run_begin(cse_traced_run *t)
{
    cse_straight_run_init(&t->run, t->executable, 1);
    int count = t->step->graph->microbatch_count;
    t->inputs = cse_calloc((size_t)count, sizeof *t->inputs);
    for (int m = 0; m < count; m++)
        t->inputs[m] = cse_aligned_calloc((size_t)cse_dataloader_microbatch_bytes(t->loader));
}

cse_status cse_traced_run_open(cse_traced_run *t, const char *yaml, cse_step_function *function,
                               void *self)
{
    CSE_TRY(cse_traced_run_plan(t, yaml, function, self));
    CSE_TRY(cse_executable_interpret(t->step->graph, &t->executable));
    cse_traced_run_begin(t);
    return CSE_OK;
}

cse_status cse_traced_run_step(cse_traced_run *t)
{
    for (int m = 0; m < t->step->graph->microbatch_count; m++)
        CSE_TRY(cse_dataloader_read(t->loader, t->run.step, m, t->inputs[m]));
    cse_straight_run_step(&t->run, t->inputs);
    return CSE_OK;
}

void cse_traced_run_close(cse_traced_run *t)
{
    for (int m = 0; t->inputs != NULL && m < t->step->graph->microbatch_count; m++)
        free(t->inputs[m]);
    if (t->inputs != NULL)
        cse_straight_run_clear(&t->run);
    free(t->inputs);
    if (t->executable != NULL)
        cse_executable_destroy(&t->executable);
    if (t->step != NULL)
        cse_step_destroy(&t->step);
    if (t->loader != NULL)
        cse_dataloader_close(&t->loader);
}
