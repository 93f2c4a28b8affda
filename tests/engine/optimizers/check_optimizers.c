/* Every optimizer over several steps of prescribed gradients, against PyTorch and the documented
 * formulas; and the scaler that skips steps. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/schedules/schedule.h"
#include "tests/reference/optimizers.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- a model whose gradient is its input ---- */

static cse_status build_vector(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    (void)settings;
    *w = cse_parameter(model, "w", cse_shape_of(REFERENCE_SIZE),
                       (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    return CSE_OK;
}

static cse_tensor *forward_vector(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(input, cse_read(*w));
}

static const cse_setting no_settings[] = { { .name = NULL } };

static const cse_model_descriptor vector = {
    .name = "vector",
    .summary = "the gradient of its loss is its input",
    .settings = no_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build_vector,
    .forward = forward_vector,
};

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    cse_clip clip;
} training;

/* One sample a microbatch: the mean loss's gradient is the mean of the rows. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_sum_all(cse_forward(t->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, &t->clip);
    return loss;
}

/* Each gradient stands in the file `copies` times: once for each microbatch. */
static void write_gradients(table_file *file, int copies)
{
    double features[REFERENCE_STEPS * 3 * REFERENCE_SIZE];
    for (int t = 0; t < REFERENCE_STEPS; t++)
        for (int k = 0; k < copies; k++)
            for (int i = 0; i < REFERENCE_SIZE; i++)
                features[(t * copies + k) * REFERENCE_SIZE + i] = reference_gradients[t][i];
    table_file_write(file, &(table_content){ .features = features,
                                             .rows = REFERENCE_STEPS * copies,
                                             .columns = REFERENCE_SIZE,
                                             .batch_size = copies,
                                             .micro_batch_size = 1 });
}

/* float32 carries 2^-24 of each value; a step has about ten roundings and the states carry them on:
 * 8 steps x 10 x 2^-24 x |value up to 2| is below 1e-5. */
static const double tolerance = 1e-5;

static void run_case(int index, int microbatches, const char *scaler)
{
    table_file file;
    traced_run traced;
    write_gradients(&file, microbatches);
    open_session();
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    t.optimizer = cse_configure_optimizer(reference_optimizers[index].optimizer, t.model,
                                          reference_optimizers[index].settings);
    t.clip.max_norm = reference_optimizers[index].max_norm;
    t.scaler = scaler ? cse_grad_scaler_new(scaler) : NULL;
    traced_run_open(&traced, file.yaml, step_function, &t);
    float *w = traced_floats(&traced, "model.w");
    for (int i = 0; i < REFERENCE_SIZE; i++)
        w[i] = (float)reference_start[i];
    for (int s = 0; s < REFERENCE_STEPS; s++) {
        traced_run_step(&traced);
        for (int i = 0; i < REFERENCE_SIZE; i++) {
            double expected = reference_optimizers[index].parameters[s][i];
            ck_assert_msg(fabs((double)w[i] - expected) < tolerance,
                          "%s: step %d: w[%d] is %.9g, expected %.9g",
                          reference_optimizers[index].name, s, i, (double)w[i], expected);
        }
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(optimizer_equals_the_reference)
{
    run_case(_i, 1, NULL);
}
END_TEST

START_TEST(mean_over_microbatches)
{
    run_case(_i, 3, NULL);
}
END_TEST

/* A power of two goes in and out without a trace. */
START_TEST(static_scale_changes_nothing)
{
    run_case(_i, 1, "{loss_scale: 1024}");
}
END_TEST

START_TEST(clip_by_value)
{
    table_file file;
    traced_run traced;
    write_gradients(&file, 1);
    open_session();
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)),
                   .clip = { .max_value = 0.25 } };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 1.0}");
    traced_run_open(&traced, file.yaml, step_function, &t);
    double expected[REFERENCE_SIZE] = { 0 };
    for (int s = 0; s < REFERENCE_STEPS; s++) {
        traced_run_step(&traced);
        for (int i = 0; i < REFERENCE_SIZE; i++) {
            expected[i] -= fmax(-0.25, fmin(0.25, reference_gradients[s][i]));
            ck_assert_double_eq_tol((double)traced_floats(&traced, "model.w")[i], expected[i],
                                    tolerance);
        }
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* ---- the scaler's states ---- */

/* 3e38 times the scale overflows float32, and so does its square. */
static void write_overflows(table_file *file)
{
    double features[SCALER_STEPS * REFERENCE_SIZE];
    for (int s = 0; s < SCALER_STEPS; s++)
        for (int i = 0; i < REFERENCE_SIZE; i++)
            features[s * REFERENCE_SIZE + i] = scaler_finite[s] ? 1 : 3e38;
    table_file_write(file, &(table_content){ .features = features,
                                             .rows = SCALER_STEPS,
                                             .columns = REFERENCE_SIZE,
                                             .batch_size = 1,
                                             .micro_batch_size = 1 });
}

START_TEST(scaler_follows_its_table)
{
    table_file file;
    traced_run traced;
    write_overflows(&file);
    open_session();
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{momentum: 0.5}");
    cse_configure_schedule(t.optimizer, "0.5");
    t.scaler = cse_grad_scaler_new(reference_scalers[_i].settings);
    traced_run_open(&traced, file.yaml, step_function, &t);
    double w = 0, momentum = 0;
    int done = 0;
    for (int s = 0; s < SCALER_STEPS; s++) {
        const double *expected = reference_scalers[_i].states[s];
        traced_run_step(&traced);
        momentum = scaler_finite[s] ? 0.5 * momentum + 1 : momentum;
        w -= scaler_finite[s] ? 0.5 * momentum : 0;
        done += scaler_finite[s];
        ck_assert_double_eq((double)*traced_floats(&traced, "grad_scaler.loss_scale"), expected[0]);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.steps_since_rescale"), (int)expected[1]);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.overflows_since_rescale"),
                         (int)expected[2]);
        ck_assert_int_eq(traced_int(&traced, "grad_scaler.num_skipped_steps"), (int)expected[3]);
        ck_assert_int_eq(traced_int(&traced, "schedulers.0.last_epoch"), done);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "model.w"), w, tolerance);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "optimizer.w.momentum_buffer"),
                                momentum, tolerance);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* The sum of squares of 3e38 overflows at any scale: 1024, then 512, then no scale is left. */
START_TEST(a_scale_that_cannot_fall_further_is_reported)
{
    table_file file;
    traced_run traced;
    double features[4 * REFERENCE_SIZE];
    for (int i = 0; i < 4 * REFERENCE_SIZE; i++)
        features[i] = 3e38;
    table_file_write(&file, &(table_content){ .features = features,
                                              .rows = 4,
                                              .columns = REFERENCE_SIZE,
                                              .batch_size = 1,
                                              .micro_batch_size = 1 });
    open_session();
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 1.0}");
    t.scaler = cse_grad_scaler_new("{loss_scale: dynamic, init_scale: 1024, min_loss_scale: 512}");
    traced_run_open(&traced, file.yaml, step_function, &t);
    for (int s = 0; s < 3; s++) {
        traced_run_step(&traced);
        const cse_fetch_entry *fetch = &traced.step->graph->fetches[traced.step->exhausted_fetch];
        const int32_t *exhausted =
            (const int32_t *)(const void *)(traced.run.spaces[CSE_SPACE_FETCH] +
                                            fetch->offset_bytes);
        ck_assert_int_eq(*exhausted, s > 0);
        ck_assert_double_eq((double)*traced_floats(&traced, "grad_scaler.loss_scale"), 512);
        ck_assert_double_eq((double)*traced_floats(&traced, "model.w"), 0);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

static const struct {
    const char *settings, *message;
} wrong_scalers[] = {
    { "{loss_scale: sometimes}", "accepted: `dynamic` or a number" },
    { "{loss_scale: 0}", "a number above 0" },
    { "{loss_scale: dynamic, init_scale: 8, min_loss_scale: 16}", "must not descend" },
    { "{loss_scale: dynamic, min_loss_scale: 1e-9}", "out of range" },
};

START_TEST(wrong_scalers_are_named)
{
    open_session();
    ck_assert_ptr_null(cse_grad_scaler_new(wrong_scalers[_i].settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong_scalers[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

/* ---- settings ---- */

static const struct {
    const char *optimizer, *settings, *message;
} wrong[] = {
    { "SGD", "{lr: 0.1, learning_rate: 0.1}", "mean the same" },
    { "SGD", "{lr: 0.1, nesterov: true}", "needs a momentum" },
    { "SGD", "{lr: 0.1, momentum: 0.5, dampening: 0.1, nesterov: true}", "dampening of 0" },
    { "SGD", "{lr: -1}", "out of range" },
    { "Adam", "{betas: [0.9]}", "two numbers" },
    { "AdamW", "{betas: [0.9, 1.0]}", "below 1" },
    { "Adam", "{momentum: 0.9}", "unknown setting" },
    { "Adan", NULL, "did you mean 'Adam'" },
};

START_TEST(wrong_settings_are_named)
{
    open_session();
    cse_model *model = cse_compile(cse_model_define(&vector, NULL));
    ck_assert_ptr_null(cse_configure_optimizer(wrong[_i].optimizer, model, wrong[_i].settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(a_learning_rate_must_be_given)
{
    table_file file;
    write_gradients(&file, 1);
    open_session();
    training t = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, NULL);
    const char *message = traced_failure(file.yaml, step_function, &t);
    ck_assert_msg(strstr(message, "no learning rate") != NULL, "%s", message);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

/* ---- the contract of every optimizer ---- */

START_TEST(every_optimizer_keeps_its_contract)
{
    for (int k = 0; cse_optimizers[k] != NULL; k++) {
        const cse_optimizer_descriptor *d = cse_optimizers[k];
        cse_declared_state states[CSE_MAX_DECLARED_STATES];
        cse_settings *settings = NULL;
        ck_assert(d->summary != NULL && d->summary[0] != '\0');
        ck_assert_int_eq(cse_settings_parse(d->settings, d->name, NULL, &settings), CSE_OK);
        ck_assert(!cse_settings_has(settings, "lr") &&
                  !cse_settings_has(settings, "learning_rate"));
        int count = d->states(settings, states);
        ck_assert(count >= 0 && count <= CSE_MAX_DECLARED_STATES);
        for (int i = 0; i < count; i++)
            ck_assert_ptr_nonnull(states[i].name);
        bool covered = false;
        for (int r = 0; r < COUNT(reference_optimizers); r++)
            covered = covered || strcmp(reference_optimizers[r].optimizer, d->name) == 0;
        ck_assert_msg(covered, "optimizer %s has no reference values", d->name);
        cse_settings_destroy(&settings);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizers");
    TCase *cases = tcase_create("all");
    int optimizers = COUNT(reference_optimizers);
    tcase_add_loop_test(cases, optimizer_equals_the_reference, 0, optimizers);
    tcase_add_loop_test(cases, mean_over_microbatches, 0, optimizers);
    tcase_add_loop_test(cases, static_scale_changes_nothing, 0, optimizers);
    tcase_add_test(cases, clip_by_value);
    tcase_add_loop_test(cases, scaler_follows_its_table, 0, COUNT(reference_scalers));
    tcase_add_test(cases, a_scale_that_cannot_fall_further_is_reported);
    tcase_add_loop_test(cases, wrong_scalers_are_named, 0, COUNT(wrong_scalers));
    tcase_add_loop_test(cases, wrong_settings_are_named, 0, COUNT(wrong));
    tcase_add_test(cases, a_learning_rate_must_be_given);
    tcase_add_test(cases, every_optimizer_keeps_its_contract);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
