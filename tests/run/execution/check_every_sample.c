/* 37 samples in batches of 8: the last batch of an epoch has 5.
 *
 * Evaluations give the metrics of all 37, as formulas in double compute them here, and as one batch
 * of 37 gives them, for any microbatch; with the same bits for any number of replicas. Training
 * with drop_last: false is the same loop in double, step by step; its bits do not depend on
 * replicas, nor on where it was interrupted. What is left out is told once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/base/log.h"
#include "engine/nn/plugins.h"
#include "tests/support/temporary_folder.h"

enum { SAMPLES = 37, BATCH = 8, STEPS_PER_EPOCH = 5, FEATURES = 3, CLASSES = 3, EPOCHS = 3 };
enum { WEIGHTS = FEATURES * CLASSES, STEPS = EPOCHS * STEPS_PER_EPOCH, MOST_METRICS = 32 };

static double features[SAMPLES][FEATURES];
static int labels[SAMPLES];
static char folder[64], table[96];

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* Numbers with few digits, which float32 reads as double does to 2^-24. */
static void make_samples(void)
{
    unsigned state = 12345;
    snprintf(folder, sizeof folder, "/tmp/cse_every_sample_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(table, sizeof table, "%s/table.csv", folder);
    FILE *out = fopen(table, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "a,b,c,label\n");
    for (int s = 0; s < SAMPLES; s++) {
        for (int f = 0; f < FEATURES; f++) {
            state = state * 1103515245u + 12345u;
            features[s][f] = (double)(state >> 20) / 1024 - 2;
            fprintf(out, "%.10f,", features[s][f]);
        }
        state = state * 1103515245u + 12345u;
        labels[s] = features[s][0] > 0.3 ? 2 : (int)(state >> 30) % 2;
        fprintf(out, "%d\n", labels[s]);
    }
    ck_assert_int_eq(fclose(out), 0);
}

static const char *input_of(int batch, int micro, const char *more)
{
    static char text[256];
    snprintf(text, sizeof text,
             "{data_processor: csv, path: %s, label: label, features_name: x, batch_size: %d, "
             "micro_batch_size: %d%s}",
             table, batch, micro, more);
    return text;
}

/* ---- the same in double ---- */

typedef struct in_double {
    double weights[WEIGHTS], losses[SAMPLES];
    int predicted[SAMPLES];
} in_double;

/* Losses and predicted classes of samples first to end - 1; returns their mean loss, and adds its
 * gradient where it is wanted. */
static double compute(in_double *d, int first, int end, double gradient[WEIGHTS])
{
    double sum = 0;
    for (int s = first; s < end; s++) {
        double scores[CLASSES] = { 0 }, total = 0;
        d->predicted[s] = 0;
        for (int c = 0; c < CLASSES; c++) {
            for (int f = 0; f < FEATURES; f++)
                scores[c] += features[s][f] * d->weights[f * CLASSES + c];
            total += exp(scores[c]);
            d->predicted[s] = scores[c] > scores[d->predicted[s]] ? c : d->predicted[s];
        }
        d->losses[s] = log(total) - scores[labels[s]];
        sum += d->losses[s];
        for (int i = 0; gradient != NULL && i < WEIGHTS; i++) {
            const int c = i % CLASSES;
            gradient[i] += (exp(scores[c]) / total - (c == labels[s])) * features[s][i / CLASSES] /
                           (end - first);
        }
    }
    return sum / (end - first);
}

/* ---- evaluation ---- */

static const char *const metrics[] = { "accuracy",
                                       "dice",
                                       "f_beta",
                                       "mean_iou",
                                       "mean",
                                       "mean_loss",
                                       "squares",
                                       "perplexity",
                                       "auc",
                                       "recall_at_k",
                                       "rouge_n",
                                       "bleu",
                                       "mean_per_class_accuracy",
                                       "precision_at_k",
                                       NULL };

typedef struct evaluation {
    cse_state *weights;
    cse_metric *metrics[MOST_METRICS];
    double values[MOST_METRICS];
    cse_output *counted;
    int steps;
    double counts[2 * STEPS_PER_EPOCH];
} evaluation;

static const float initial[WEIGHTS] = { 0.5F, -0.25F, 1, 0.125F, 0.75F, -0.5F, -1, 0.25F, 0.375F };

static void update(evaluation *e, int m, cse_tensor *scores, cse_tensor *label)
{
    const char *name = metrics[m];
    cse_tensor *losses = cse_cross_entropy_per_sample(scores, label);
    cse_tensor *classes = cse_argmax(scores, -1);
    const int64_t rows = cse_tensor_shape(label).dims[0];
    if (strcmp(name, "mean") == 0)
        cse_metric_update(e->metrics[m], cse_mean_all(losses)); /* of a microbatch */
    else if (strcmp(name, "squares") == 0)
        cse_metric_update(e->metrics[m], cse_square(losses));
    else if (strcmp(name, "mean_loss") == 0 || strcmp(name, "perplexity") == 0)
        cse_metric_update(e->metrics[m], label, cse_sum_all(losses));
    else if (strstr(name, "at_k") != NULL)
        cse_metric_update(e->metrics[m], label, scores);
    else if (strcmp(name, "auc") == 0)
        cse_metric_update(
            e->metrics[m],
            cse_cast(cse_greater(cse_cast(label, CSE_FLOAT32), cse_constant(1.5)), CSE_INT32),
            cse_reshape(cse_sigmoid(cse_slice_axis(scores, 1, 2, 3)), cse_shape_of(rows)));
    else if (strcmp(name, "rouge_n") == 0 || strcmp(name, "bleu") == 0)
        cse_metric_update(e->metrics[m], cse_reshape(label, cse_shape_of(rows, 1)),
                          cse_reshape(classes, cse_shape_of(rows, 1)));
    else
        cse_metric_update(e->metrics[m], label, classes);
}

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    evaluation *e = self;
    cse_tensor *label = cse_input(step, "labels"), *x = cse_input(step, "x");
    cse_tensor *scores = cse_matmul(x, cse_read(e->weights), false, false);
    for (int m = 0; metrics[m] != NULL; m++)
        update(e, m, scores, label);
    cse_tensor *rows = cse_sum_all(cse_cast(cse_equal(label, label), CSE_FLOAT32));
    e->counted = cse_step_output(step, NULL, cse_batch_sum(rows));
    return cse_cross_entropy(scores, label);
}

static const char *settings_of(const char *metric)
{
    if (strcmp(metric, "f_beta") == 0)
        return "{num_classes: 3, average_type: macro}";
    if (strcmp(metric, "rouge_n") == 0)
        return "{n: 1}";
    if (strcmp(metric, "bleu") == 0)
        return "{max_n: 1}";
    if (strstr(metric, "at_k") != NULL)
        return "{k: 1}";
    const bool classes = strcmp(metric, "dice") == 0 || strcmp(metric, "mean_iou") == 0 ||
                         strcmp(metric, "mean_per_class_accuracy") == 0;
    return classes ? "{num_classes: 3}" : NULL;
}

static void evaluate(evaluation *e, int replicas, const char *input, int64_t steps)
{
    *e = (evaluation){ .steps = 0 };
    must(cse_configure(
        &(cse_configuration){ .model_dir = folder, .num_csx = replicas, .no_run_store = true }));
    e->weights = cse_state_new("w", cse_shape_of(FEATURES, CLASSES), CSE_FLOAT32,
                               (cse_initializer){ .kind = CSE_INIT_CONSTANT });
    must(cse_state_set(e->weights, initial, sizeof initial));
    for (int m = 0; metrics[m] != NULL; m++) {
        const char *name = strcmp(metrics[m], "squares") == 0 ? "mean" : metrics[m];
        e->metrics[m] = cse_configure_metric(name, metrics[m], settings_of(metrics[m]));
    }
    must(cse_session_status());
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = input, .num_steps = steps, .num_epochs = steps > 0 ? 0 : 1 });
    cse_loop *loop = cse_execution_begin(executor, evaluation_step, e);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP) {
        ck_assert_int_lt(e->steps, 2 * STEPS_PER_EPOCH);
        ck_assert_int_eq(cse_execution_step(loop), e->steps + 1);
        e->counts[e->steps++] = cse_output_number(e->counted);
    }
    must(cse_execution_end(&loop));
    for (int m = 0; metrics[m] != NULL; m++)
        must(cse_metric_value(e->metrics[m], &e->values[m]));
    cse_finish();
}

/* By the definitions; NaN: only compared with one batch of all. */
static double expected(const char *name)
{
    double sum = 0, squares = 0, correct = 0, dice = 0, iou = 0, recall = 0;
    in_double d;
    for (int i = 0; i < WEIGHTS; i++)
        d.weights[i] = (double)initial[i];
    compute(&d, 0, SAMPLES, NULL);
    for (int c = 0; c < CLASSES; c++) {
        double both = 0, label = 0, prediction = 0;
        for (int s = 0; s < SAMPLES; s++) {
            both += labels[s] == c && d.predicted[s] == c;
            label += labels[s] == c;
            prediction += d.predicted[s] == c;
        }
        correct += both;
        dice += 2 * both / (label + prediction) / CLASSES;
        iou += both / (label + prediction - both) / CLASSES;
        recall += both / label / CLASSES;
    }
    for (int s = 0; s < SAMPLES; s++) {
        sum += d.losses[s];
        squares += d.losses[s] * d.losses[s];
    }
    const struct {
        const char *name;
        double value;
    } rows[] = {
        { "accuracy", correct / SAMPLES },
        { "recall_at_k", correct / SAMPLES },
        { "precision_at_k", correct / SAMPLES },
        { "dice", dice },
        { "f_beta", dice },
        { "mean_iou", iou },
        { "mean_per_class_accuracy", recall },
        { "mean", sum / SAMPLES },
        { "mean_loss", sum / SAMPLES },
        { "squares", squares / SAMPLES },
        { "perplexity", exp(sum / SAMPLES) },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    return (double)NAN;
}

static void compare(const evaluation *e, const evaluation *whole, int micro, int replicas)
{
    for (int m = 0; metrics[m] != NULL; m++) {
        const double value = e->values[m], formula = expected(metrics[m]);
        ck_assert_msg(isnan(formula) || fabs(value - formula) < 2e-6 * formula,
                      "%s: %.9g where double has %.9g (microbatches of %d, %d replicas)",
                      metrics[m], value, formula, micro, replicas);
        ck_assert_msg(fabs(value - whole->values[m]) < 2e-6 * whole->values[m],
                      "%s: %.9g, and %.9g of one batch (microbatches of %d, %d replicas)",
                      metrics[m], value, whole->values[m], micro, replicas);
    }
}

START_TEST(evaluations_are_of_all_samples)
{
    static const struct {
        int micro, replicas;
    } rows[] = { { 8, 1 }, { 4, 2 }, { 2, 3 }, { 1, 1 }, { 1, 3 } };
    static evaluation whole, e, one;
    make_samples();
    evaluate(&whole, 1, input_of(SAMPLES, SAMPLES, ""), 0);
    compare(&whole, &whole, SAMPLES, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        evaluate(&e, rows[i].replicas, input_of(BATCH, rows[i].micro, ""), 0);
        ck_assert_int_eq(e.steps, STEPS_PER_EPOCH);
        for (int s = 0; s < e.steps; s++)
            ck_assert_double_eq(e.counts[s], s + 1 < STEPS_PER_EPOCH ? BATCH : SAMPLES % BATCH);
        compare(&e, &whole, rows[i].micro, rows[i].replicas);
        if (rows[i].replicas == 1)
            one = e;
        else if (rows[i].micro == 1)
            ck_assert_mem_eq(e.values, one.values, sizeof e.values);
    }
    /* Less than a batch, and more than an epoch. */
    evaluate(&e, 2, input_of(64, 16, ""), 0);
    ck_assert_int_eq(e.steps, 1);
    ck_assert_double_eq(e.counts[0], SAMPLES);
    compare(&e, &whole, 16, 2);
    evaluate(&e, 1, input_of(BATCH, 4, ", shuffle: true"), (int64_t)2 * STEPS_PER_EPOCH);
    ck_assert_int_eq(e.steps, 2 * STEPS_PER_EPOCH);
    compare(&e, &whole, 4, 1);
    temporary_folder_remove(folder);
}
END_TEST

/* ---- training ---- */

typedef struct training {
    cse_state *weights;
    cse_optimizer *optimizer;
    double losses[STEPS + 1];
    int64_t last;
} training;

static cse_status on_step(void *self, const cse_values *values)
{
    training *t = self;
    t->last = cse_values_step(values);
    ck_assert_int_le(t->last, STEPS);
    t->losses[t->last] = cse_value(values, 0);
    return CSE_OK;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *scores = cse_matmul(cse_input(step, "x"), cse_read(t->weights), false, false);
    cse_tensor *loss = cse_cross_entropy(scores, cse_input(step, "labels"));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    cse_step_closure(step, on_step, t, loss);
    return loss;
}

/* Steps until each of `stops`, ended by 0; the weights after the last. */
static void train(training *t, int replicas, const char *input, const int stops[], float *weights)
{
    *t = (training){ .last = 0 };
    must(cse_configure(
        &(cse_configuration){ .model_dir = folder, .num_csx = replicas, .no_run_store = true }));
    t->weights = cse_state_new("w", cse_shape_of(FEATURES, CLASSES), CSE_FLOAT32,
                               (cse_initializer){ .kind = CSE_INIT_CONSTANT });
    must(cse_state_set(t->weights, initial, sizeof initial));
    t->optimizer = cse_optimizer_new("SGD", &t->weights, 1, "{lr: 0.25, momentum: 0.5}");
    for (int i = 0; stops[i] > 0; i++) {
        must(cse_run(
            cse_executor_new(&(cse_executor_options){ .input = input, .max_steps = stops[i] }),
            training_step, t));
        ck_assert_int_eq(cse_global_step(), stops[i]);
    }
    must(cse_state_get(t->weights, weights, sizeof initial));
    cse_finish();
}

START_TEST(training_takes_all_samples)
{
    static const int at_once[] = { STEPS, 0 };
    static const int in_parts[] = { 1, 4, 5, 9, 12, STEPS, 0 };
    static training t;
    double velocity[WEIGHTS];
    in_double d;
    float weights[WEIGHTS], others[WEIGHTS];
    make_samples();
    for (int micro = BATCH; micro >= BATCH / 2; micro /= 2) {
        const char *input = input_of(BATCH, micro, ", drop_last: false");
        train(&t, 1, input, at_once, weights);
        for (int i = 0; i < WEIGHTS; i++)
            d.weights[i] = (double)initial[i], velocity[i] = 0;
        for (int step = 0; step < STEPS; step++) {
            double gradient[WEIGHTS] = { 0 };
            const int first = step % STEPS_PER_EPOCH * BATCH;
            const int end = first + BATCH < SAMPLES ? first + BATCH : SAMPLES;
            const double loss = compute(&d, first, end, gradient);
            ck_assert_msg(fabs(t.losses[step + 1] - loss) < 2e-6, "step %d: %.9g, double: %.9g",
                          step + 1, t.losses[step + 1], loss);
            for (int i = 0; i < WEIGHTS; i++) {
                velocity[i] = 0.5 * velocity[i] + gradient[i];
                d.weights[i] -= 0.25 * velocity[i];
            }
        }
        for (int i = 0; i < WEIGHTS; i++)
            ck_assert_double_eq_tol((double)weights[i], d.weights[i], 2e-6);
        if (micro == 4) {
            train(&t, 1, input, in_parts, others);
            ck_assert_mem_eq(weights, others, sizeof weights);
        }
        for (int replicas = 2; micro == 4 && replicas <= 3; replicas++) {
            train(&t, replicas, input, at_once, others);
            ck_assert_mem_eq(weights, others, sizeof weights);
        }
    }
    temporary_folder_remove(folder);
}
END_TEST

/* Batch norm in training: of the one sample that 37 in batches of 9 leave, it has no variance. */
static cse_tensor *normalized_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *x = cse_batch_norm(cse_input(step, "x"), NULL, NULL, 1e-5);
    cse_tensor *scores = cse_matmul(x, cse_read(t->weights), false, false);
    cse_tensor *loss = cse_cross_entropy(scores, cse_input(step, "labels"));
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

START_TEST(batch_norm_of_one_sample_is_refused)
{
    static const char *const last[] = { ", drop_last: false", ", drop_last: true" };
    make_samples();
    for (int i = 0; i < 2; i++) {
        training t = { .last = 0 };
        must(cse_configure(&(cse_configuration){
            .model_dir = folder, .compile_only = true, .no_run_store = true }));
        t.weights = cse_state_new("w", cse_shape_of(FEATURES, CLASSES), CSE_FLOAT32,
                                  (cse_initializer){ .kind = CSE_INIT_CONSTANT });
        t.optimizer = cse_optimizer_new("SGD", &t.weights, 1, "{lr: 0.25}");
        const cse_status status = cse_run(cse_executor_new(&(cse_executor_options){
                                              .input = input_of(9, 9, last[i]), .num_epochs = 1 }),
                                          normalized_step, &t);
        ck_assert_int_eq(status, i == 0 ? CSE_CONFIG : CSE_OK);
        if (i == 0)
            ck_assert_ptr_nonnull(strstr(cse_error_message(), "batch norm has no variance"));
        cse_finish();
    }
    temporary_folder_remove(folder);
}
END_TEST

/* ---- what is left out ---- */

static int told;
static char told_last[512];

static void on_line(void *self, const cse_log_record *record)
{
    (void)self;
    if (strstr(record->text, "leaves out") == NULL)
        return;
    told++;
    snprintf(told_last, sizeof told_last, "%s", record->text);
}

START_TEST(what_is_left_out_is_told_once)
{
    static const int twice[] = { 3, 6, 0 };
    static training t;
    static evaluation e;
    float weights[WEIGHTS];
    make_samples();
    cse_log_set_sink(on_line, NULL);
    train(&t, 1, input_of(BATCH, BATCH, ""), twice, weights);
    ck_assert_int_eq(told, 1);
    ck_assert_ptr_nonnull(strstr(told_last, "training leaves out 5 of 37 samples"));
    evaluate(&e, 1, input_of(BATCH, BATCH, ", drop_last: true"), 0);
    ck_assert_int_eq(told, 2);
    ck_assert_ptr_nonnull(strstr(told_last, "evaluation leaves out 5 of 37 samples"));
    ck_assert_int_eq(e.steps, STEPS_PER_EPOCH - 1);
    evaluate(&e, 1, input_of(BATCH, BATCH, ""), 0);
    ck_assert_int_eq(told, 2);
    cse_log_set_sink(NULL, NULL);
    temporary_folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("every_sample");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, evaluations_are_of_all_samples);
    tcase_add_test(cases, training_takes_all_samples);
    tcase_add_test(cases, batch_norm_of_one_sample_is_refused);
    tcase_add_test(cases, what_is_left_out_is_told_once);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
