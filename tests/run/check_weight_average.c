/* Moving averages of weights, step by step, beside the definition of PyTorch's AveragedModel
 * with get_ema_avg_fn: the first update copies, each later one is decay * average + (1 - decay)
 * * weight. An evaluation reads them where it is asked to. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/nn/network.h"
#include "engine/nn/update/weight_average.h"
#include "tests/support/traced_run.h"

enum { ROWS = 4, FEATURES = 3, CLASSES = 2, WEIGHTS = FEATURES * CLASSES, STEPS = 12 };

static const double features[ROWS][FEATURES] = {
    { 0.5, -1, 0.25 }, { 1.5, 0.75, -0.5 }, { -0.25, 2, 1 }, { 1, 1, -1 }
};
static const int labels[ROWS] = { 0, 1, 1, 0 };
static const char model[] =
    "{input_shape: [3], layers: [{linear: {out: 2, bias: false, name: head}}]}";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    double factor; /* of the loss; 0: 1 */
} training;

static cse_tensor *loss_of(cse_step *step, const training *t)
{
    cse_tensor *targets = cse_cast(cse_input(step, "targets"), CSE_INT32);
    targets = cse_reshape(targets, cse_shape_of(cse_tensor_shape(targets).dims[0]));
    return cse_cross_entropy(cse_forward(t->model, cse_input(step, "images")), targets);
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_scale(loss_of(step, t), t->factor != 0 ? t->factor : 1);
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, NULL);
    return loss;
}

/* The weight as an evaluation sees it. */
static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = loss_of(step, t);
    cse_step_output(step, "weights", cse_sum_all(cse_read(cse_parameter_at(t->model, 0))));
    return loss;
}

static void open_table(table_file *file)
{
    table_file_write(file, &(table_content){ .features = features[0],
                                             .labels = labels,
                                             .rows = ROWS,
                                             .columns = FEATURES,
                                             .batch_size = ROWS,
                                             .micro_batch_size = 2 });
}

static void train(const char *optimizer, const char *scaler, double factor, double decay)
{
    table_file file;
    traced_run traced;
    training t = { .factor = factor };
    double wanted[WEIGHTS];
    open_table(&file);
    open_session();
    t.model = cse_compile(cse_model_new("layers", model));
    t.optimizer = cse_configure_optimizer(optimizer, t.model, "{lr: 0.5}");
    ck_assert_int_eq(cse_average_weights(t.optimizer, decay), CSE_OK);
    t.scaler = scaler != NULL ? cse_grad_scaler_new(scaler) : NULL;
    traced_run_open(&traced, file.yaml, training_step, &t);
    bool is_first = true;
    for (int step = 0; step < STEPS; step++) {
        float before[WEIGHTS];
        memcpy(before, traced_floats(&traced, "model.head.weight"), sizeof before);
        traced_run_step(&traced);
        const float *weights = traced_floats(&traced, "model.head.weight");
        const float *averages = traced_floats(&traced, "ema.head.weight");
        const bool skipped = memcmp(before, weights, sizeof before) == 0;
        for (int i = 0; i < WEIGHTS && !skipped; i++)
            wanted[i] = is_first ? (double)weights[i]
                                 : decay * wanted[i] + (1 - decay) * (double)weights[i];
        is_first = is_first && skipped;
        for (int i = 0; i < WEIGHTS && !is_first; i++)
            ck_assert_msg(fabs((double)averages[i] - wanted[i]) < 2e-7,
                          "%s, step %d, weight %d: %.9g, not %.9g", optimizer, step, i,
                          (double)averages[i], wanted[i]);
    }
    ck_assert(!is_first);
    /* Of a scale that overflows some updates are left out, by both. */
    ck_assert_int_eq(traced_int(&traced, "ema.n_averaged") < STEPS, scaler != NULL);
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(averages_are_those_of_pytorch)
{
    train("SGD", NULL, 1, 0.9);
    train("AdamW", NULL, 1, 0.999);
    train("SGD", NULL, 1, 0);
}
END_TEST

START_TEST(updates_that_are_left_out_do_not_count)
{
    train("Lion", "{loss_scale: dynamic, init_scale: 1.0e+30, max_loss_scale: 1.0e+30}", 1e10,
          0.75);
}
END_TEST

START_TEST(an_evaluation_reads_them_where_it_is_asked)
{
    static const float weights[WEIGHTS] = { 1, 2, 3, 4, 5, 6 }, averages[WEIGHTS] = { 0.5F };
    for (int reads = 0; reads < 2; reads++) {
        table_file file;
        traced_run traced;
        training t = { .model = NULL };
        open_table(&file);
        open_session();
        t.model = cse_compile(cse_model_new("layers", model));
        t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.5}");
        ck_assert_int_eq(cse_average_weights(t.optimizer, 0.9), CSE_OK);
        cse_network_open_view("test")->reads_averages = reads != 0;
        traced_run_open(&traced, file.yaml, evaluation_step, &t);
        memcpy(traced_floats(&traced, reads ? "ema.head.weight" : "model.head.weight"),
               reads ? averages : weights, sizeof weights);
        traced_run_step(&traced);
        double wanted = reads ? 0.5 : 21, found = NAN;
        for (int i = 0; i < traced.step->graph->fetch_count; i++)
            if (strcmp(traced.step->graph->fetches[i].name, "weights") == 0)
                found = (double)straight_run_fetched(&traced.run, i);
        ck_assert_double_eq(found, wanted);
        traced_run_close(&traced);
        cse_finish();
        table_file_remove(&file);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("weight_average");
    Suite *suite = suite_create("weight_average");
    tcase_add_test(tests, averages_are_those_of_pytorch);
    tcase_add_test(tests, updates_that_are_left_out_do_not_count);
    tcase_add_test(tests, an_evaluation_reads_them_where_it_is_asked);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
