/* The contract of every metric (run/contracts/of_metric.c); totals beyond the whole numbers of
 * float32; then what a metric refuses. */
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/nn/plugins.h"
#include "tests/samples/contract.h"
#include "tests/support/traced_run.h"

/* Three batches of four samples: labels, and predictions of which nine are right. */
enum { BATCHES = 3, BATCH = 4, ROWS = BATCHES * BATCH, RIGHT = 9 };
static const double labels_and_predictions[ROWS * 2] = { 0, 0, 1, 1, 2, 2, 3, 0, 1, 1, 0, 0,
                                                         3, 3, 2, 1, 0, 0, 2, 2, 1, 3, 3, 3 };

static void write_table(table_file *file)
{
    table_file_write(file, &(table_content){ .features = labels_and_predictions,
                                             .rows = ROWS,
                                             .columns = 2,
                                             .classes = 1,
                                             .batch_size = BATCH,
                                             .micro_batch_size = BATCH });
}

static cse_tensor *column(cse_step *step, int number)
{
    cse_tensor *part = cse_slice_axis(cse_input(step, "images"), -1, number, number + 1);
    return cse_cast(cse_reshape(part, cse_shape_of(BATCH)), CSE_INT32);
}

static cse_tensor *step_function(cse_step *step, void *self)
{
    cse_metric_update(self, column(step, 0), column(step, 1));
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
    write_table(&file);
    open_session();
    traced_run_open(&traced, file.yaml, step_function, cse_metric_new("accuracy", "sampled"));
    *traced_floats(&traced, "metrics.sampled.total") = 0x1p24F;
    *traced_floats(&traced, "metrics.sampled.correct") = 0x1p23F;
    for (int s = 0; s < BATCHES; s++)
        traced_run_step(&traced);
    double total = (double)*traced_floats(&traced, "metrics.sampled.total") +
                   (double)*traced_floats(&traced, "metrics.sampled.total_rest");
    double correct = (double)*traced_floats(&traced, "metrics.sampled.correct") +
                     (double)*traced_floats(&traced, "metrics.sampled.correct_rest");
    ck_assert_double_eq(total, 0x1p24 + ROWS);
    ck_assert_double_eq(correct, 0x1p23 + RIGHT);
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
    write_table(&file);
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
