/* Label smoothing, weights of classes and labels of probabilities beside PyTorch in float64: losses
 * and gradients, for every cut of the batch; and that a loss which uses none of it says so. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "engine/nn/class_loss.h"
#include "engine/nn/network.h"
#include "tests/reference/class_losses.h"
#include "tests/support/traced_run.h"

enum {
    ROWS = LOSS_ROWS,
    CLASSES = LOSS_CLASSES,
    CASES = sizeof reference_losses / sizeof *reference_losses
};

static const int labels[ROWS] = { 2, 0, 3, -100, 1, 3 };
static const float weights[CLASSES] = { 0.5F, 2, 0.25F, 1.5F };

static double logit(int row, int class)
{
    return ((row * 7 + class * 5) % 11 - 5) / 4.0;
}

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    bool soft, as_tokens;
} training;

/* Features are rows of the identity, by which constants become those of their sample. */
static cse_tensor *soft_labels(cse_step *step, cse_tensor *features)
{
    float soft[ROWS][CLASSES];
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += soft[r][c] = (float)(1 + (r + 2 * c) % 5);
        for (int c = 0; c < CLASSES; c++)
            soft[r][c] /= sum;
    }
    cse_tensor *rows = cse_constant_data(step, cse_shape_of(ROWS, CLASSES), CSE_FLOAT32, soft);
    return cse_matmul(features, rows, false, false);
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *features = cse_input(step, "images"), *logits = cse_forward(t->model, features);
    cse_tensor *targets = cse_cast(cse_input(step, "targets"), CSE_INT32), *loss;
    const int64_t rows = cse_tensor_shape(logits).dims[0];
    targets = cse_reshape(targets, cse_shape_of(rows));
    if (t->soft)
        targets = soft_labels(step, features);
    if (t->as_tokens)
        loss = cse_lm_loss(cse_reshape(logits, cse_shape_of(rows, 1, CLASSES)),
                           cse_reshape(targets, cse_shape_of(rows, 1)), NULL, NULL);
    else
        loss = cse_classification_loss(logits, targets);
    cse_class_loss_check_used("layers");
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static void open_training(training *t, table_file *file, int micro_batch, cse_class_loss *loss)
{
    static double identity[ROWS][ROWS];
    for (int r = 0; r < ROWS; r++)
        identity[r][r] = 1;
    table_file_write(file, &(table_content){ .features = identity[0],
                                             .labels = labels,
                                             .rows = ROWS,
                                             .columns = ROWS,
                                             .batch_size = ROWS,
                                             .micro_batch_size = micro_batch });
    open_session();
    t->model = cse_compile(cse_model_new(
        "layers", "{input_shape: [6], layers: [{linear: {out: 4, bias: false, name: head}}]}"));
    t->optimizer = cse_configure_optimizer("SGD", t->model, "{lr: 1}");
    cse_network_open_view("test")->class_loss = loss;
}

static void compare(int number, int micro_batch, bool as_tokens)
{
    table_file file;
    traced_run traced;
    training t = { .soft = reference_losses[number].soft, .as_tokens = as_tokens };
    cse_class_loss loss = { .label_smoothing = reference_losses[number].smoothing,
                            .weights = reference_losses[number].weighted ? weights : NULL,
                            .weight_count = CLASSES };
    open_training(&t, &file, micro_batch, &loss);
    traced_run_open(&traced, file.yaml, training_step, &t);
    float *w = traced_floats(&traced, "model.head.weight"), before[CLASSES * ROWS];
    for (int c = 0; c < CLASSES; c++)
        for (int r = 0; r < ROWS; r++)
            w[c * ROWS + r] = (float)logit(r, c);
    memcpy(before, w, sizeof before);
    traced_run_step(&traced);
    const double got = (double)straight_run_fetched(&traced.run, traced.step->loss_fetch);
    ck_assert_msg(fabs(got - reference_losses[number].loss) < 1e-6,
                  "case %d, microbatches of %d: %.9g, PyTorch's %.9g", number, micro_batch, got,
                  reference_losses[number].loss);
    w = traced_floats(&traced, "model.head.weight");
    for (int c = 0; c < CLASSES; c++)
        for (int r = 0; r < ROWS; r++) {
            const double gradient = (double)before[c * ROWS + r] - (double)w[c * ROWS + r];
            const double wanted = reference_losses[number].gradient[r * CLASSES + c];
            ck_assert_msg(fabs(gradient - wanted) < 1e-6,
                          "case %d, microbatches of %d, gradient of row %d, class %d: %.9g, "
                          "PyTorch's %.9g",
                          number, micro_batch, r, c, gradient, wanted);
        }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(losses_and_gradients_are_those_of_pytorch)
{
    for (int micro_batch = 1; micro_batch <= ROWS; micro_batch++)
        if (ROWS % micro_batch == 0)
            compare(_i, micro_batch, false);
}
END_TEST

START_TEST(language_models_are_smoothed)
{
    for (int number = 0; number < CASES; number++)
        if (!reference_losses[number].soft && !reference_losses[number].weighted)
            compare(number, 3, true);
}
END_TEST

static void refuses(cse_class_loss loss, bool as_tokens, const char *message)
{
    table_file file;
    training t = { .as_tokens = as_tokens };
    loss.weights_origin = loss.smoothing_origin = "here.yaml:3";
    open_training(&t, &file, ROWS, &loss);
    const char *failure = traced_failure(file.yaml, training_step, &t);
    ck_assert_msg(strstr(failure, message) != NULL, "%s", failure);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(what_is_not_used_is_refused)
{
    refuses((cse_class_loss){ .weights = weights, .weight_count = 3 }, false,
            "has 3 numbers, and the model's loss has 4 classes");
    refuses((cse_class_loss){ .weights = weights, .weight_count = 4 }, true,
            "loss.class_weights (here.yaml:3)");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("class_loss");
    Suite *suite = suite_create("class_loss");
    tcase_add_loop_test(tests, losses_and_gradients_are_those_of_pytorch, 0, CASES);
    tcase_add_test(tests, language_models_are_smoothed);
    tcase_add_test(tests, what_is_not_used_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
