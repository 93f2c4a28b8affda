/* The contract of every metric (run/contracts/of_metric.c); totals beyond the whole numbers of
 * float32; then what a metric refuses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/base/registry.h"
#include "engine/metrics/metric.h"
#include "tests/support/contract.h"
#include "tests/support/traced_run.h"

enum {
    BATCHES = CSE_METRIC_SAMPLE_BATCHES,
    BATCH = CSE_METRIC_SAMPLE_ROWS,
    ROWS = BATCHES * BATCH,
    MOST_COLUMNS = CSE_MAX_METRIC_ARGUMENTS * CSE_METRIC_SAMPLE_COLUMNS
};

typedef struct sampled {
    const cse_metric_descriptor *descriptor;
    const cse_metric_sample *sample;
    cse_metric *metric; /* of the running test */
} sampled;

/* The first sample of accuracy. */
static sampled first_sample(void)
{
    const cse_metric_descriptor *descriptor = cse_registry_find(cse_metrics, "accuracy");
    return (sampled){ descriptor, &descriptor->samples[0], NULL };
}

static int columns_of(const cse_metric_sample *sample, int argument)
{
    int columns = sample->arguments[argument].columns;
    return columns > 0 ? columns : 1;
}

/* The arguments side by side in one table. */
static void write_table(table_file *file, const cse_metric_sample *sample, int micro_batch_size)
{
    double features[ROWS * MOST_COLUMNS];
    int columns = 0, next = 0;
    for (int a = 0; a < sample->argument_count; a++)
        columns += columns_of(sample, a);
    for (int row = 0; row < ROWS; row++)
        for (int a = 0; a < sample->argument_count; a++)
            for (int c = 0; c < columns_of(sample, a); c++)
                features[next++] = sample->arguments[a].values[row * columns_of(sample, a) + c];
    table_file_write(file, &(table_content){ .features = features,
                                             .rows = ROWS,
                                             .columns = columns,
                                             .classes = 1,
                                             .batch_size = BATCH,
                                             .micro_batch_size = micro_batch_size });
}

static cse_tensor *step_function(cse_step *step, void *self)
{
    const sampled *at = self;
    cse_tensor *table = cse_input(step, "images"), *arguments[CSE_MAX_METRIC_ARGUMENTS] = { 0 };
    const int last_axis = -1;
    for (int a = 0, first = 0; a < at->sample->argument_count; a++) {
        int columns = columns_of(at->sample, a);
        cse_tensor *part = cse_slice_axis(table, -1, first, first + columns);
        if (at->sample->arguments[a].columns == 0)
            part = cse_sum(part, &last_axis, 1, false);
        arguments[a] = cse_cast(part, at->sample->arguments[a].dtype);
        first += columns;
    }
    /* The list of arguments ends at the first NULL. */
    cse_metric_update(at->metric, arguments[0], arguments[1], arguments[2], arguments[3]);
    return NULL;
}

START_TEST(the_contract_is_kept)
{
    contract_check("metric", cse_metrics, _i);
}
END_TEST

/* A count goes on where float32 has no next whole number. */
START_TEST(totals_are_exact_beyond_two_to_the_24)
{
    table_file file;
    traced_run traced;
    sampled at = first_sample();
    ck_assert_str_eq(at.descriptor->name, "accuracy");
    write_table(&file, at.sample, BATCH);
    open_session();
    at.metric = cse_metric_new("accuracy", "sampled");
    traced_run_open(&traced, file.yaml, step_function, &at);
    *traced_floats(&traced, "metrics.sampled.total") = 0x1p24F;
    *traced_floats(&traced, "metrics.sampled.correct") = 0x1p23F;
    for (int s = 0; s < BATCHES; s++)
        traced_run_step(&traced);
    double total = (double)*traced_floats(&traced, "metrics.sampled.total") +
                   (double)*traced_floats(&traced, "metrics.sampled.total_rest");
    double correct = (double)*traced_floats(&traced, "metrics.sampled.correct") +
                     (double)*traced_floats(&traced, "metrics.sampled.correct_rest");
    ck_assert_double_eq(total, 0x1p24 + ROWS);
    ck_assert_double_eq(correct, 0x1p23 + ROWS * at.sample->values[BATCHES - 1]);
    /* Odd counts too: 1 a time where the spacing of float32 is 4. */
    *traced_floats(&traced, "metrics.sampled.total") = 0x1p26F;
    *traced_floats(&traced, "metrics.sampled.total_rest") = -1;
    traced_run_step(&traced);
    total = (double)*traced_floats(&traced, "metrics.sampled.total") +
            (double)*traced_floats(&traced, "metrics.sampled.total_rest");
    ck_assert_double_eq(total, 0x1p26 - 1 + BATCH);
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
    write_table(&file, first_sample().sample, BATCH);
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

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_metrics));
    tcase_add_test(cases, totals_are_exact_beyond_two_to_the_24);
    tcase_add_test(cases, no_update_is_no_value);
    tcase_add_test(cases, wrong_arguments_are_named);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
