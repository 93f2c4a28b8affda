/* Every metric batch by batch against NumPy, with one and with several microbatches. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/schedules/schedule.h"
#include "tests/reference/metrics.h"
#include "tests/support/traced_run.h"

typedef struct metrics {
    cse_metric *accuracy, *weighted_accuracy, *mean, *weighted_mean;
} metrics;

static cse_tensor *step_function(cse_step *step, void *self)
{
    const metrics *m = self;
    const int last_axis = -1;
    cse_tensor *scores = cse_input(step, "images"), *labels = cse_input(step, "labels");
    cse_tensor *predicted = cse_argmax(scores, -1);
    cse_tensor *weights = cse_max(cse_maximum(scores, cse_constant(0)), &last_axis, 1, false);
    cse_metric_update(m->accuracy, labels, predicted);
    cse_metric_update(m->weighted_accuracy, labels, predicted, weights);
    cse_metric_update(m->mean, scores);
    cse_metric_update(m->weighted_mean, cse_mean(scores, &last_axis, 1, false), weights);
    return NULL;
}

static void write_table(table_file *file, int micro_batch_size)
{
    table_file_write(file, &(table_content){ .features = metric_scores,
                                             .labels = metric_labels,
                                             .rows = METRIC_ROWS,
                                             .columns = METRIC_CLASSES,
                                             .classes = METRIC_CLASSES,
                                             .batch_size = METRIC_BATCH,
                                             .micro_batch_size = micro_batch_size });
}

/* Sums of at most 72 values up to 4 in float32: 72 x 2^-24 x 4 is below 2e-5. */
static const double tolerance = 2e-5;

START_TEST(metrics_equal_the_reference)
{
    static const int micro_batch_sizes[] = { 4, 2, 1 };
    table_file file;
    traced_run traced;
    write_table(&file, micro_batch_sizes[_i]);
    open_session();
    metrics m = { cse_metric_new("accuracy", "plain"), cse_metric_new("accuracy", "weighted"),
                  cse_metric_new("mean", "mean"), cse_metric_new("mean", "weighted_mean") };
    traced_run_open(&traced, file.yaml, step_function, &m);
    for (int s = 0; s < METRIC_STEPS; s++) {
        traced_run_step(&traced);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "metrics.plain.value"),
                                metric_accuracies[s], tolerance);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "metrics.weighted.value"),
                                metric_weighted_accuracies[s], tolerance);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "metrics.mean.value"),
                                metric_means[s], tolerance);
        ck_assert_double_eq_tol((double)*traced_floats(&traced, "metrics.weighted_mean.value"),
                                metric_weighted_means[s], tolerance);
        ck_assert_int_eq(traced_int(&traced, "metrics.plain.updates"), s + 1);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}
END_TEST

START_TEST(no_update_is_no_value)
{
    double value = 1;
    open_session();
    cse_metric *metric = cse_metric_new("accuracy", "top1");
    ck_assert_int_eq(cse_metric_value(metric, &value), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "top1 has no value"));
    ck_assert_int_eq(cse_metric_reset(metric), CSE_OK);
    ck_assert_int_eq(cse_metric_value(metric, &value), CSE_USAGE);
    cse_finish();
}
END_TEST

static cse_tensor *too_few_arguments(cse_step *step, void *self)
{
    cse_metric_update(self, cse_input(step, "labels"));
    return NULL;
}

START_TEST(wrong_arguments_are_named)
{
    table_file file;
    write_table(&file, 4);
    open_session();
    const char *message =
        traced_failure(file.yaml, too_few_arguments, cse_metric_new("accuracy", "a"));
    ck_assert_msg(strstr(message, "takes (labels, predictions[, weights]), not 1") != NULL, "%s",
                  message);
    ck_assert_msg(strstr(message, "check_metrics.c:") != NULL, "%s", message);
    ck_assert_ptr_null(cse_metric_new("acuracy", "a"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "did you mean 'accuracy'"));
    cse_finish();
    table_file_remove(&file);
}
END_TEST

START_TEST(every_metric_keeps_its_contract)
{
    for (int k = 0; cse_metrics[k] != NULL; k++) {
        const cse_metric_descriptor *d = cse_metrics[k];
        ck_assert(d->summary != NULL && d->arguments != NULL && d->update != NULL);
        ck_assert(d->min_arguments >= 1 && d->max_arguments <= CSE_MAX_METRIC_ARGUMENTS);
        ck_assert(d->state_count <= CSE_MAX_DECLARED_STATES);
        ck_assert_msg(strcmp(d->name, "accuracy") == 0 || strcmp(d->name, "mean") == 0,
                      "metric %s has no reference values", d->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, metrics_equal_the_reference, 0, 3);
    tcase_add_test(cases, no_update_is_no_value);
    tcase_add_test(cases, wrong_arguments_are_named);
    tcase_add_test(cases, every_metric_keeps_its_contract);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
