/* 50 steps of the model cnn beside PyTorch in float64: convolutions, relu, max pooling, clipping,
 * AdamW and two microbatches together, with errors that would add up. The network stands a second
 * time in tests/reference/cnn_losses.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/reference/cnn_losses.h"
#include "tests/support/traced_run.h"

enum { ROWS = 32, SIZE = 8, PIXELS = SIZE * SIZE, BATCH = 16, CLASSES = 4 };

static const struct {
    const char *name;
    double speed, shift, size;
} weights[] = {
    { "model.conv_layers.0.weight", 1.3, 0.2, 0.5 }, { "model.conv_layers.0.bias", 0.9, 0.1, 0.3 },
    { "model.conv_layers.1.weight", 1.7, 0.4, 0.3 }, { "model.conv_layers.1.bias", 0.7, 0.3, 0.2 },
    { "model.hidden_layer.weight", 2.1, 0.7, 0.3 },  { "model.hidden_layer.bias", 1.1, 0.5, 0.1 },
    { "model.last_layer.weight", 1.9, 0.6, 0.4 },    { "model.last_layer.bias", 0.8, 0.2, 0.1 },
};

static double wave(int64_t i, double speed, double shift, double size)
{
    return round(sin(speed * (double)i + shift) * size * 1e4) / 1e4;
}

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, &(cse_clip){ .max_norm = 1 });
    return loss;
}

static void set_weights(const traced_run *traced, cse_model *model)
{
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++)
        for (int p = 0; p < cse_parameter_tensors(model); p++) {
            const cse_state *state = cse_parameter_at(model, p);
            float *values = traced_floats(traced, weights[w].name);
            int64_t count = cse_shape_elements(cse_state_shape(state));
            if (strcmp(cse_state_name_view(state), weights[w].name) == 0)
                for (int64_t i = 0; i < count; i++)
                    values[i] = (float)wave(i, weights[w].speed, weights[w].shift, weights[w].size);
        }
}

/* PyTorch's own float32 stays within a few 1e-7 of its float64. */
START_TEST(losses_are_those_of_pytorch)
{
    static double table[ROWS * PIXELS];
    int labels[ROWS];
    table_file file;
    traced_run traced;
    training t;
    double worst = 0;
    for (int i = 0; i < ROWS * PIXELS; i++)
        table[i] = wave(i, 1.1, 0.3, 1);
    for (int i = 0; i < ROWS; i++)
        labels[i] = i * 7 % 5 % CLASSES;
    table_file_write(&file, &(table_content){ .features = table,
                                              .labels = labels,
                                              .rows = ROWS,
                                              .columns = PIXELS,
                                              .classes = CLASSES,
                                              .batch_size = BATCH,
                                              .micro_batch_size = BATCH / 2 });
    open_session();
    t.model = cse_compile(cse_model_new(
        "cnn", "{image_size: 8, conv_channels: [4, 6], hidden_size: 16, num_classes: 4}"));
    t.optimizer = cse_configure_optimizer(
        "AdamW", t.model, "{lr: 0.01, weight_decay: 0.01, eps: 1e-8, eps_added_to: corrected}");
    traced_run_open(&traced, file.yaml, step_function, &t);
    set_weights(&traced, t.model);
    for (size_t step = 0; step < sizeof cnn_losses / sizeof *cnn_losses; step++) {
        traced_run_step(&traced);
        double loss = (double)straight_run_fetched(&traced.run, traced.step->loss_fetch);
        double error = fabs(loss - cnn_losses[step]);
        ck_assert_msg(error < 2e-6, "step %zu: the loss is %.9g, PyTorch's %.9g", step, loss,
                      cnn_losses[step]);
        worst = fmax(worst, error);
    }
    printf("at most %.2g apart\n", worst);
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cnn_losses");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, losses_are_those_of_pytorch);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
