/* Training with prescribed gradients: the loss is the sum of input times parameter, so that the
 * gradient is the input, which is read from a file with one row for each microbatch. */
#include "run/contracts/prescribed_gradients.h"

#include "csengine/csengine.h"

static cse_status build_vector(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    bool matrix = cse_settings_bool(settings, "matrix");
    *w = cse_parameter(model, "w",
                       matrix ? cse_shape_of(2, 2) : cse_shape_of(CSE_PRESCRIBED_ELEMENTS),
                       (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    return CSE_OK;
}

static cse_tensor *forward_vector(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(input, cse_reshape(cse_read(*w), cse_shape_of(CSE_PRESCRIBED_ELEMENTS)));
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

cse_tensor *cse_prescribed_step(cse_step *step, void *self)
{
    const cse_prescribed_run *run = self;
    cse_tensor *loss = cse_sum_all(cse_forward(run->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, run->optimizer, run->scaler, &run->clip);
    return loss;
}

/* One sample a microbatch: the mean loss's gradient is the mean of the rows. */
static cse_status write_gradients(cse_table_file *file, const cse_prescribed_gradients *given)
{
    static double features[CSE_PRESCRIBED_MOST_ROWS * CSE_PRESCRIBED_ELEMENTS];
    int copies = given->microbatches > 0 ? given->microbatches : 1, next = 0;
    if (given->steps * copies > CSE_PRESCRIBED_MOST_ROWS)
        return cse_fail(CSE_INTERNAL, "more rows than there is room for");
    for (int t = 0; t < given->steps; t++)
        for (int k = 0; k < copies; k++)
            for (int i = 0; i < CSE_PRESCRIBED_ELEMENTS; i++)
                features[next++] = given->gradients[t][i];
    return cse_table_file_write(file, &(cse_table_content){ .features = features,
                                                            .rows = given->steps * copies,
                                                            .columns = CSE_PRESCRIBED_ELEMENTS,
                                                            .batch_size = copies,
                                                            .micro_batch_size = 1 });
}

cse_optimizer *cse_prescribed_optimizer(const char *optimizer, const char *settings, bool matrix,
                                        cse_model **model)
{
    if (cse_traced_session() != CSE_OK)
        return NULL;
    *model = cse_compile(cse_model_define(&vector, matrix ? "{matrix: true}" : NULL));
    return cse_configure_optimizer(optimizer, *model, settings);
}

cse_status cse_prescribed_run_prepare(cse_prescribed_run *run,
                                      const cse_prescribed_gradients *given)
{
    *run = (cse_prescribed_run){ .clip = given->clip };
    CSE_TRY(write_gradients(&run->file, given));
    run->optimizer =
        cse_prescribed_optimizer(given->optimizer, given->settings, given->matrix, &run->model);
    if (given->schedule != NULL)
        cse_configure_schedule(run->optimizer, given->schedule);
    run->scaler = given->scaler != NULL ? cse_grad_scaler_new(given->scaler) : NULL;
    return cse_session_status();
}

cse_status cse_prescribed_run_open(cse_prescribed_run *run, const cse_prescribed_gradients *given)
{
    CSE_TRY(cse_prescribed_run_prepare(run, given));
    CSE_TRY(cse_traced_run_open(&run->traced, run->file.yaml, cse_prescribed_step, run));
    run->w = cse_straight_run_state(&run->traced.run, "model.w");
    for (int i = 0; i < CSE_PRESCRIBED_ELEMENTS; i++)
        run->w[i] = (float)given->start[i];
    return CSE_OK;
}

void cse_prescribed_run_close(cse_prescribed_run *run)
{
    cse_traced_run_close(&run->traced);
    cse_finish();
    cse_table_file_remove(&run->file);
}
