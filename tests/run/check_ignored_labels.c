/* Losses of classes over labels of which some do not count, against formulas in double: values and
 * three steps of training, for every cut of the batch into microbatches (of which some then have no
 * row that counts), with and without loss scaling; gradients by central differences. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "tests/support/traced_run.h"

enum { STEPS = 3, ROWS = 8, FEATURES = 3, CLASSES = 4, WEIGHTS = CLASSES * FEATURES };

static const double features[ROWS][FEATURES] = {
    { 0.5, -1, 0.25 }, { 1.5, 0.75, -0.5 }, { -0.25, 2, 1 },   { 1, 1, -1 },
    { -1.5, 0.5, 2 },  { 0.25, -0.75, 1 },  { 2, -0.5, 0.75 }, { -1, 0.25, -2 },
};
static const int some[ROWS] = { 2, -100, -100, -100, 0, 1, 3, 1 };
static const int none[ROWS] = { -100, -100, -100, -100, -100, -100, -100, -100 };
static const double class_weights[CLASSES] = { 0.5, 2, 0, 1.5 };

/* ---- formulas ---- */

/* The mean over the rows whose label is not `ignored`, as PyTorch's cross_entropy defines it. */
static double mean_by_hand(const double w[WEIGHTS], const int labels[ROWS], int ignored,
                           const double *weights, double smoothing)
{
    double sum = 0, count = 0;
    for (int r = 0; r < ROWS; r++) {
        double scores[CLASSES], total = 0, smooth = 0;
        if (labels[r] == ignored || labels[r] == -100)
            continue;
        for (int c = 0; c < CLASSES; c++) {
            scores[c] = 0;
            for (int f = 0; f < FEATURES; f++)
                scores[c] += w[c * FEATURES + f] * features[r][f];
            total += exp(scores[c]);
        }
        for (int c = 0; c < CLASSES; c++)
            smooth += (weights ? weights[c] : 1) * (log(total) - scores[c]) / CLASSES;
        const double own = weights ? weights[labels[r]] : 1;
        sum += (1 - smoothing) * own * (log(total) - scores[labels[r]]) + smoothing * smooth;
        count += own;
    }
    return count == 0 ? 0 : sum / count;
}

static double plain_by_hand(const double w[WEIGHTS], const int labels[ROWS])
{
    return mean_by_hand(w, labels, -100, NULL, 0);
}

static double options_by_hand(const double w[WEIGHTS], const int labels[ROWS])
{
    return mean_by_hand(w, labels, 3, class_weights, 0.25);
}

static double nll_by_hand(const double w[WEIGHTS], const int labels[ROWS])
{
    return mean_by_hand(w, labels, -100, class_weights, 0);
}

static double sum_by_hand(const double w[WEIGHTS], const int labels[ROWS])
{
    int count = 0;
    for (int r = 0; r < ROWS; r++)
        count += labels[r] != -100;
    return plain_by_hand(w, labels) * count / ROWS;
}

/* 0.5 a - b / 8 + |w|^2 / 16, where the rows that count in a are others than those in b. */
static double mixed_by_hand(const double w[WEIGHTS], const int labels[ROWS])
{
    double squares = 0;
    for (int i = 0; i < WEIGHTS; i++)
        squares += w[i] * w[i];
    return 0.5 * plain_by_hand(w, labels) - nll_by_hand(w, labels) / 8 + squares / 16;
}

/* ---- the same of the engine ---- */

static cse_tensor *weights_tensor(void)
{
    cse_tensor *parts[CLASSES];
    for (int c = 0; c < CLASSES; c++)
        parts[c] = cse_full(cse_shape_of(1), class_weights[c]);
    return cse_concat(parts, CLASSES, 0);
}

static cse_tensor *plain(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    (void)w;
    return cse_cross_entropy(logits, labels);
}

static cse_tensor *options(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    (void)w;
    /* Label 3 is the one that does not count; -100 would be out of range. */
    labels = cse_where(cse_equal(labels, cse_constant_int(-100)), cse_constant_int(3), labels);
    return cse_cross_entropy_with(logits, labels,
                                  &(cse_cross_entropy_options){ .has_ignore_index = true,
                                                                .ignore_index = 3,
                                                                .class_weights = weights_tensor(),
                                                                .label_smoothing = 0.25 });
}

static cse_tensor *nll(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    (void)w;
    return cse_nll_loss(cse_log_softmax(logits, -1), labels,
                        &(cse_cross_entropy_options){ .class_weights = weights_tensor() });
}

static cse_tensor *tokens(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    const cse_shape shape = cse_tensor_shape(logits);
    (void)w;
    return cse_lm_loss(cse_reshape(logits, cse_shape_of(shape.dims[0], 1, CLASSES)),
                       cse_reshape(labels, cse_shape_of(shape.dims[0], 1)), NULL, NULL);
}

static cse_tensor *by_batch(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    (void)w;
    return cse_lm_loss(logits, labels, NULL, &(cse_lm_loss_options){ .by_batch = true });
}

static cse_tensor *classes(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    (void)w;
    return cse_classification_loss(logits, labels);
}

static cse_tensor *mixed(cse_tensor *logits, cse_tensor *labels, cse_tensor *w)
{
    cse_tensor *first = cse_scale(cse_reshape(plain(logits, labels, w), cse_shape_of(1)), 0.5);
    cse_tensor *second = cse_div(nll(logits, labels, w), cse_constant(8));
    cse_tensor *penalty = cse_scale(cse_sum_all(cse_square(w)), 1.0 / 16);
    return cse_add(cse_sub(cse_sum_all(first), second), penalty);
}

static const struct {
    const char *name;
    cse_tensor *(*make)(cse_tensor *logits, cse_tensor *labels, cse_tensor *w);
    double (*by_hand)(const double w[WEIGHTS], const int labels[ROWS]);
} losses[] = {
    { "cross_entropy", plain, plain_by_hand },
    { "with options", options, options_by_hand },
    { "nll", nll, nll_by_hand },
    { "lm_loss", tokens, plain_by_hand },
    { "lm_loss by batch", by_batch, sum_by_hand },
    { "classification", classes, plain_by_hand },
    { "a sum of several", mixed, mixed_by_hand },
};
enum { LOSSES = sizeof losses / sizeof *losses };

typedef struct training {
    int loss;
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_state *w = cse_parameter_at(t->model, 0);
    cse_tensor *labels = cse_cast(cse_input(step, "targets"), CSE_INT32);
    labels = cse_reshape(labels, cse_shape_of(cse_tensor_shape(labels).dims[0]));
    cse_tensor *logits = cse_forward(t->model, cse_input(step, "images"));
    cse_tensor *loss = losses[t->loss].make(logits, labels, cse_read(w));
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, NULL);
    cse_step_output(step, "mean", cse_batch_mean(loss));
    return loss;
}

/* ---- comparison ---- */

static void step_by_hand(int loss, const int labels[ROWS], double w[WEIGHTS])
{
    double gradient[WEIGHTS];
    const double h = 1e-5;
    for (int i = 0; i < WEIGHTS; i++) {
        const double before = w[i];
        w[i] = before + h;
        const double above = losses[loss].by_hand(w, labels);
        w[i] = before - h;
        gradient[i] = (above - losses[loss].by_hand(w, labels)) / (2 * h);
        w[i] = before;
    }
    for (int i = 0; i < WEIGHTS; i++)
        w[i] -= 0.5 * gradient[i];
}

static void compare(int loss, const int labels[ROWS], int micro_batch, const char *scale)
{
    double w[WEIGHTS];
    table_file file;
    traced_run traced;
    training t = { .loss = loss };
    table_file_write(&file, &(table_content){ .features = features[0],
                                              .labels = labels,
                                              .rows = ROWS,
                                              .columns = FEATURES,
                                              .batch_size = ROWS,
                                              .micro_batch_size = micro_batch });
    open_session();
    t.model = cse_compile(cse_model_new(
        "layers", "{input_shape: [3], layers: [{linear: {out: 4, bias: false, name: head, "
                  "initializer: {name: normal}}}]}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.5}");
    t.scaler = scale != NULL ? cse_grad_scaler_new(scale) : NULL;
    traced_run_open(&traced, file.yaml, training_step, &t);
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = (double)traced_floats(&traced, "model.head.weight")[i];
    for (int step = 0; step < STEPS; step++) {
        const double wanted = losses[loss].by_hand(w, labels);
        traced_run_step(&traced);
        const double got = (double)straight_run_fetched(&traced.run, traced.step->loss_fetch);
        ck_assert_msg(fabs(got - wanted) < 2e-6, "%s, microbatches of %d, step %d: %.8g, not %.8g",
                      losses[loss].name, micro_batch, step, got, wanted);
        step_by_hand(loss, labels, w);
        for (int i = 0; i < WEIGHTS; i++)
            ck_assert_msg(fabs((double)traced_floats(&traced, "model.head.weight")[i] - w[i]) <
                              3e-6,
                          "%s, microbatches of %d, step %d, weight %d", losses[loss].name,
                          micro_batch, step, i);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(losses_are_over_the_rows_that_count)
{
    for (int micro_batch = 1; micro_batch <= ROWS; micro_batch *= 2)
        compare(_i, some, micro_batch, NULL);
    compare(_i, some, 2, "{loss_scale: dynamic, init_scale: 1024}");
}
END_TEST

START_TEST(a_batch_of_which_nothing_counts_changes_nothing)
{
    for (int micro_batch = 2; micro_batch <= ROWS; micro_batch *= 4)
        compare(_i, none, micro_batch, NULL);
}
END_TEST

/* ---- labels that are no class ---- */

START_TEST(computed_labels_out_of_range_give_nan)
{
    static const int wrong[] = { CLASSES, -1, -101 };
    for (int k = 0; k < 3; k++)
        for (int loss = 0; loss < LOSSES; loss++) {
            int labels[ROWS];
            table_file file;
            traced_run traced;
            training t = { .loss = loss };
            memcpy(labels, some, sizeof labels);
            labels[4] = wrong[k];
            table_file_write(&file, &(table_content){ .features = features[0],
                                                      .labels = labels,
                                                      .rows = ROWS,
                                                      .columns = FEATURES,
                                                      .batch_size = ROWS,
                                                      .micro_batch_size = 4 });
            open_session();
            t.model = cse_compile(cse_model_new(
                "layers", "{input_shape: [3], layers: [{linear: {out: 4, bias: false}}]}"));
            t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.5}");
            traced_run_open(&traced, file.yaml, training_step, &t);
            traced_run_step(&traced);
            ck_assert_msg(isnan((double)straight_run_fetched(&traced.run, traced.step->loss_fetch)),
                          "%s: label %d is taken", losses[loss].name, wrong[k]);
            traced_run_close(&traced);
            cse_finish();
            table_file_remove(&file);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ignored labels");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, losses_are_over_the_rows_that_count, 0, LOSSES);
    tcase_add_loop_test(cases, a_batch_of_which_nothing_counts_changes_nothing, 0, LOSSES);
    tcase_add_test(cases, computed_labels_out_of_range_give_nan);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
