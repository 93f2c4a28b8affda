/* The batch norm layer in runs with real processes: its running statistics by hand, the same bits
 * for any number of replicas and after a stop, and what evaluation makes of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* ---- the same bits ---- */

enum { STEPS = 6, MOST_VALUES = 4096 };

static const char images[] = "{data_processor: synthetic, samples: 96, features: [64], classes: 4, "
                             "batch_size: 24, micro_batch_size: 3}";
static const char cnn[] = "{image_size: 8, conv_channels: [3, 5], hidden_size: 7, num_classes: 4, "
                          "batch_norm: true}";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

/* The file that holds all states of the model after STEPS steps, stopped once on the way if asked.
 */
static void train(const char *folder, int replicas, bool stopped, const char *result)
{
    char path[256];
    for (int part = 0; part < (stopped ? 2 : 1); part++) {
        training t;
        must(cse_configure(
            &(cse_configuration){ .model_dir = folder, .num_csx = replicas, .seed = 5 }));
        t.model = cse_compile(cse_model_new("cnn", cnn));
        t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.05, momentum: 0.9}");
        must(cse_session_status());
        snprintf(path, sizeof path, "%s/half.mdl", folder);
        if (part == 1)
            must(cse_load(path));
        must(cse_run(cse_executor_new(&(cse_executor_options){
                         .input = images, .max_steps = stopped && part == 0 ? STEPS / 2 : STEPS }),
                     training_step, &t));
        if (!stopped || part == 1)
            snprintf(path, sizeof path, "%s/%s", folder, result);
        must(cse_save(path));
        cse_finish();
    }
}

/* All states of the model in `path`, one after the other. Returns their bytes. */
static size_t read_states(const char *folder, const char *name, float *values)
{
    char path[256];
    size_t count = 0;
    training t;
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .seed = 6 }));
    t.model = cse_compile(cse_model_new("cnn", cnn));
    cse_configure_optimizer("SGD", t.model, "{lr: 0.05, momentum: 0.9}");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(cse_load(path));
    const cse_model *model = t.model;
    for (int i = 0; i < model->parameter_count; i++) {
        size_t elements = (size_t)cse_shape_elements(model->parameters[i]->shape);
        ck_assert_uint_le(count + elements, MOST_VALUES);
        must(cse_state_get(model->parameters[i], values + count, elements * sizeof *values));
        count += elements;
    }
    cse_finish();
    return count * sizeof *values;
}

START_TEST(the_bits_do_not_depend_on_replicas_or_stops)
{
    static float one[MOST_VALUES], other[MOST_VALUES];
    char folder[64] = "/tmp/cse_batch_norm_XXXXXX", name[32];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    train(folder, 1, false, "1.mdl");
    const size_t bytes = read_states(folder, "1.mdl", one);
    for (int replicas = 2; replicas <= 4; replicas++) {
        snprintf(name, sizeof name, "%d.mdl", replicas);
        train(folder, replicas, replicas == 3, name); /* with three it is stopped, too */
        ck_assert_uint_eq(read_states(folder, name, other), bytes);
        ck_assert_msg(memcmp(one, other, bytes) == 0, "%d replicas have other bits", replicas);
    }
    temporary_folder_remove(folder);
}
END_TEST

/* ---- by hand ---- */

enum { ROWS = 12, COLUMNS = 2, BATCH = 6, MICROBATCH = 3 };

#define MOMENTUM 0.25

/* y = norm(x); the loss is the mean of y0 * y0 + y1. */
static cse_batch_norm_layer layer;
static const cse_setting no_settings[] = { { .name = NULL } };

static cse_status build(cse_model *model, const cse_settings *settings)
{
    (void)settings;
    layer = cse_batch_norm_parameters(model, "norm", COLUMNS);
    layer.momentum = MOMENTUM;
    layer.epsilon = 0.5;
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    return cse_apply_batch_norm(model, &layer, input);
}

static const cse_model_descriptor norm_model = { .name = "norm",
                                                 .summary = "a batch norm",
                                                 .settings = no_settings,
                                                 .abi = CSE_MODEL_ABI,
                                                 .self_bytes = 1,
                                                 .build = build,
                                                 .forward = forward };

static double features[ROWS * COLUMNS];

static void statistics_of(int first, int column, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (int i = 0; i < MICROBATCH; i++)
        *mean += features[(first + i) * COLUMNS + column] / MICROBATCH;
    for (int i = 0; i < MICROBATCH; i++)
        *variance += pow(features[(first + i) * COLUMNS + column] - *mean, 2) / (MICROBATCH - 1);
}

static cse_tensor *norm_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *y = cse_forward(t->model, cse_input(step, "images"));
    cse_tensor *loss = cse_mean_all(cse_square(y));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static cse_status keep_value(void *self, const cse_values *values)
{
    *(double *)self = cse_value(values, 0);
    return CSE_OK;
}

static double evaluated;

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *y = cse_forward(t->model, cse_input(step, "images"));
    cse_step_closure(step, keep_value, &evaluated, cse_mean_all(cse_square(y)));
    return NULL;
}

static void run_steps(const table_file *file, int steps, cse_step_function *function, training *t)
{
    must(cse_run(cse_executor_new(&(cse_executor_options){
                     .input = file->yaml, .num_steps = steps, .checkpoint_steps = steps }),
                 function, t));
}

START_TEST(running_statistics_are_those_of_the_microbatches)
{
    char folder[64] = "/tmp/cse_batch_norm_XXXXXX";
    double mean[COLUMNS] = { 0 }, variance[COLUMNS] = { 1, 1 }, expected = 0;
    float weight[COLUMNS], bias[COLUMNS], got_mean[COLUMNS], got_variance[COLUMNS];
    table_file file;
    training t;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        features[i] = (float)(sin(1.7 * i) * (1 + i % 3) + 0.3);
    table_file_write(&file,
                     &(table_content){ features, NULL, ROWS, COLUMNS, 0, BATCH, MICROBATCH });
    ck_assert_ptr_nonnull(mkdtemp(folder));
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .num_csx = 2, .seed = 5 }));
    t.model = cse_compile(cse_model_define(&norm_model, NULL));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.1}");
    run_steps(&file, 3, norm_step, &t);
    for (int step = 0; step < 3; step++)
        for (int c = 0; c < COLUMNS; c++) {
            double means[2], variances[2];
            for (int m = 0; m < 2; m++)
                statistics_of((step * BATCH + m * MICROBATCH) % ROWS, c, &means[m], &variances[m]);
            mean[c] += MOMENTUM * ((means[0] + means[1]) / 2 - mean[c]);
            variance[c] += MOMENTUM * ((variances[0] + variances[1]) / 2 - variance[c]);
        }
    must(cse_state_get(layer.running_mean, got_mean, sizeof got_mean));
    must(cse_state_get(layer.running_var, got_variance, sizeof got_variance));
    must(cse_state_get(layer.weight, weight, sizeof weight));
    must(cse_state_get(layer.bias, bias, sizeof bias));
    for (int c = 0; c < COLUMNS; c++) {
        ck_assert_double_eq_tol(got_mean[c], mean[c], 1e-6);
        ck_assert_double_eq_tol(got_variance[c], variance[c], 4e-6);
        ck_assert(weight[c] != 1 && bias[c] != 0); /* they were trained */
        for (int row = 0; row < BATCH; row++)
            expected +=
                pow((features[row * COLUMNS + c] - mean[c]) / sqrt(variance[c] + 0.5) * weight[c] +
                        bias[c],
                    2) /
                (BATCH * COLUMNS);
    }
    cse_eval_mode(t.model);
    run_steps(&file, 1, evaluation_step, &t);
    ck_assert_double_eq_tol(evaluated, expected, 1e-5);
    cse_finish();
    table_file_remove(&file);
    temporary_folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch_norm");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, the_bits_do_not_depend_on_replicas_or_stops);
    tcase_add_test(cases, running_statistics_are_those_of_the_microbatches);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
