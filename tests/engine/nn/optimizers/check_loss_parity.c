/* The losses of 50 steps of a small network beside those of PyTorch's optimizers: matrices and
 * vectors, gradients of a loss, and errors that would add up. The network stands a second time in
 * tests/reference/optimizer_losses.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/nn/plugins.h"
#include "tests/reference/optimizer_losses.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { ROWS = 8, INPUTS = 3, HIDDEN = 4, COLUMNS = INPUTS + 1 };

typedef struct network {
    cse_state *w1, *b1, *w2;
} network;

static cse_status build(cse_model *model, const cse_settings *settings)
{
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    network *n = cse_model_self(model);
    (void)settings;
    n->w1 = cse_parameter(model, "w1", cse_shape_of(HIDDEN, INPUTS), zero);
    n->b1 = cse_parameter(model, "b1", cse_shape_of(HIDDEN), zero);
    n->w2 = cse_parameter(model, "w2", cse_shape_of(1, HIDDEN), zero);
    return CSE_OK;
}

/* The mean squared error of the last column. */
static cse_tensor *forward(cse_model *model, cse_tensor *table)
{
    const network *n = cse_model_self(model);
    cse_tensor *x = cse_slice_axis(table, 1, 0, INPUTS);
    cse_tensor *y = cse_slice_axis(table, 1, INPUTS, COLUMNS);
    cse_tensor *hidden = cse_tanh(cse_linear(x, cse_read(n->w1), cse_read(n->b1)));
    return cse_mean_all(cse_square(cse_sub(cse_linear(hidden, cse_read(n->w2), NULL), y)));
}

static const cse_setting no_settings[] = { { .name = NULL } };

static const cse_model_descriptor small = {
    .name = "small",
    .summary = "two layers and their loss",
    .settings = no_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(network),
    .build = build,
    .forward = forward,
};

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_forward(t->model, cse_input(step, "images"));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static double wave(int i, double speed, double shift, double size)
{
    return round(sin(speed * i + shift) * size * 1e4) / 1e4;
}

static void fill(const traced_run *traced, const char *state, int count, const double wave_of[3])
{
    float *values = traced_floats(traced, state);
    for (int i = 0; i < count; i++)
        values[i] = (float)wave(i, wave_of[0], wave_of[1], wave_of[2]);
}

START_TEST(losses_are_those_of_pytorch)
{
    double table[ROWS * COLUMNS];
    table_file file;
    traced_run traced;
    training t;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        table[i] = wave(i, 1.1, 0.3, 1);
    table_file_write(&file, &(table_content){ .features = table,
                                              .rows = ROWS,
                                              .columns = COLUMNS,
                                              .batch_size = ROWS,
                                              .micro_batch_size = ROWS });
    open_session();
    t.model = cse_compile(cse_model_define(&small, NULL));
    t.optimizer = cse_configure_optimizer(optimizer_losses[_i].optimizer, t.model,
                                          optimizer_losses[_i].settings);
    traced_run_open(&traced, file.yaml, step_function, &t);
    fill(&traced, "model.w1", HIDDEN * INPUTS, (double[]){ 1.3, 0.2, 0.8 });
    fill(&traced, "model.b1", HIDDEN, (double[]){ 0.9, 0.1, 0.3 });
    fill(&traced, "model.w2", HIDDEN, (double[]){ 2.1, 0.7, 0.9 });
    double worst = 0;
    for (int step = 0; step < COUNT(optimizer_losses[0].losses); step++) {
        traced_run_step(&traced);
        float loss = straight_run_fetched(&traced.run, traced.step->loss_fetch);
        double error = fabs((double)loss - (double)optimizer_losses[_i].losses[step]);
        ck_assert_msg(error < 1e-5, "%s %s: step %d: the loss is %.9g, PyTorch's %.9g",
                      optimizer_losses[_i].optimizer, optimizer_losses[_i].settings, step,
                      (double)loss, (double)optimizer_losses[_i].losses[step]);
        worst = error > worst ? error : worst;
    }
    printf("%-10s %.2g\n", optimizer_losses[_i].optimizer, worst);
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* Each of the list has at least one training. */
START_TEST(no_optimizer_is_left_out)
{
    for (int i = 0; cse_optimizers[i] != NULL; i++) {
        bool found = false;
        for (int k = 0; k < COUNT(optimizer_losses) && !found; k++)
            found = strcmp(optimizer_losses[k].optimizer, cse_optimizers[i]->name) == 0;
        ck_assert_msg(found, "no losses of %s", cse_optimizers[i]->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss_parity");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, losses_are_those_of_pytorch, 0, COUNT(optimizer_losses));
    tcase_add_test(cases, no_optimizer_is_left_out);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
