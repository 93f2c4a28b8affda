/* Training with prescribed gradients: the loss is the sum of input times parameter, so that the
 * gradient is the input, which is read from a file with one row for each microbatch. */
#include "tests/support/prescribed_gradients.h"

#include <check.h>

#include "csengine/csengine.h"

static cse_status build_vector(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    bool matrix = cse_settings_bool(settings, "matrix");
    *w = cse_parameter(model, "w", matrix ? cse_shape_of(2, 2) : cse_shape_of(PRESCRIBED_ELEMENTS),
                       (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    return CSE_OK;
}

static cse_tensor *forward_vector(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(input, cse_reshape(cse_read(*w), cse_shape_of(PRESCRIBED_ELEMENTS)));
}

static const cse_setting settings_table[] = {
    { .name = "matrix",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "the parameter is [2, 2]" },
    { .name = NULL },
};

static const cse_model_descriptor vector = {
    .name = "vector",
    .summary = "the gradient of its loss is its input",
    .settings = settings_table,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build_vector,
    .forward = forward_vector,
};

static cse_tensor *step_function(cse_step *step, void *self)
{
    const prescribed_run *run = self;
    cse_tensor *loss = cse_sum_all(cse_forward(run->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, run->optimizer, run->scaler, &run->clip);
    return loss;
}

/* One sample a microbatch: the mean loss's gradient is the mean of the rows. */
static void write_gradients(table_file *file, const prescribed_gradients *given)
{
    static double features[PRESCRIBED_MOST_ROWS * PRESCRIBED_ELEMENTS];
    int copies = given->microbatches > 0 ? given->microbatches : 1, next = 0;
    ck_assert_int_le(given->steps * copies, PRESCRIBED_MOST_ROWS);
    for (int t = 0; t < given->steps; t++)
        for (int k = 0; k < copies; k++)
            for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
                features[next++] = given->gradients[t][i];
    table_file_write(file, &(table_content){ .features = features,
                                             .rows = given->steps * copies,
                                             .columns = PRESCRIBED_ELEMENTS,
                                             .batch_size = copies,
                                             .micro_batch_size = 1 });
}

cse_optimizer *prescribed_optimizer(const char *optimizer, const char *settings, bool matrix,
                                    cse_model **model)
{
    open_session();
    *model = cse_compile(cse_model_define(&vector, matrix ? "{matrix: true}" : NULL));
    return cse_configure_optimizer(optimizer, *model, settings);
}

static void prepare(prescribed_run *run, const prescribed_gradients *given)
{
    *run = (prescribed_run){ .clip = given->clip };
    write_gradients(&run->file, given);
    run->optimizer =
        prescribed_optimizer(given->optimizer, given->settings, given->matrix, &run->model);
    if (given->schedule != NULL)
        cse_configure_schedule(run->optimizer, given->schedule);
    run->scaler = given->scaler != NULL ? cse_grad_scaler_new(given->scaler) : NULL;
}

void prescribed_run_open(prescribed_run *run, const prescribed_gradients *given)
{
    prepare(run, given);
    traced_run_open(&run->traced, run->file.yaml, step_function, run);
    run->w = traced_floats(&run->traced, "model.w");
    for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
        run->w[i] = (float)given->start[i];
}

void prescribed_run_close(prescribed_run *run)
{
    traced_run_close(&run->traced);
    cse_finish();
    table_file_remove(&run->file);
}

const char *prescribed_failure(const prescribed_gradients *given)
{
    prescribed_run run;
    prepare(&run, given);
    const char *message = traced_failure(run.file.yaml, step_function, &run);
    table_file_remove(&run.file);
    return message;
}
