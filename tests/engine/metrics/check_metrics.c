/* The contract of every metric: the values of its own samples, with one and with several
 * microbatches a batch; then what a metric refuses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/metrics/metric.h"
#include "tests/support/traced_run.h"

enum {
    BATCHES = CSE_METRIC_SAMPLE_BATCHES,
    BATCH = CSE_METRIC_SAMPLE_ROWS,
    ROWS = BATCHES * BATCH,
    MOST_COLUMNS = CSE_MAX_METRIC_ARGUMENTS * CSE_METRIC_SAMPLE_COLUMNS,
    MOST_SAMPLES = 256
};

typedef struct sampled {
    const cse_metric_descriptor *descriptor;
    const cse_metric_sample *sample;
    cse_metric *metric; /* of the running test */
} sampled;

static sampled all[MOST_SAMPLES], refusals[MOST_SAMPLES];
static int all_count, refusal_count;

static void list_samples(void)
{
    for (int k = 0; cse_metrics[k] != NULL; k++)
        for (const cse_metric_sample *s = cse_metrics[k]->samples; s != NULL && s->name != NULL;
             s++) {
            if (all_count == MOST_SAMPLES || refusal_count == MOST_SAMPLES)
                abort();
            if (s->refusal != NULL)
                refusals[refusal_count++] = (sampled){ cse_metrics[k], s, NULL };
            else
                all[all_count++] = (sampled){ cse_metrics[k], s, NULL };
        }
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

static void check_sample(sampled *at, int micro_batch_size)
{
    table_file file;
    traced_run traced;
    double tolerance = at->sample->tolerance > 0 ? at->sample->tolerance : 1e-5;
    write_table(&file, at->sample, micro_batch_size);
    open_session();
    at->metric = cse_configure_metric(at->descriptor->name, "sampled", at->sample->settings);
    traced_run_open(&traced, file.yaml, step_function, at);
    for (int s = 0; s < BATCHES; s++) {
        traced_run_step(&traced);
        double value = (double)*traced_floats(&traced, "metrics.sampled.value");
        ck_assert_msg(fabs(value - at->sample->values[s]) < tolerance,
                      "%s, %s: batch %d in microbatches of %d: %.9g, expected %.9g (%s)",
                      at->descriptor->name, at->sample->name, s, micro_batch_size, value,
                      at->sample->values[s], at->sample->source);
        ck_assert_int_eq(traced_int(&traced, "metrics.sampled.updates"), s + 1);
    }
    traced_run_close(&traced);
    cse_finish();
    table_file_remove(&file);
}

START_TEST(samples_are_met)
{
    for (int size = BATCH; size >= 1; size /= 2)
        check_sample(&all[_i], size);
}
END_TEST

START_TEST(wrong_settings_are_refused)
{
    const sampled *at = &refusals[_i];
    open_session();
    ck_assert_ptr_null(cse_configure_metric(at->descriptor->name, "a", at->sample->settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), at->sample->refusal) != NULL, "%s %s: %s",
                  at->descriptor->name, at->sample->settings, cse_error_message());
    cse_finish();
}
END_TEST

/* A count goes on where float32 has no next whole number. */
START_TEST(totals_are_exact_beyond_two_to_the_24)
{
    table_file file;
    traced_run traced;
    sampled at = all[0];
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

START_TEST(a_descriptor_is_complete)
{
    for (int k = 0; cse_metrics[k] != NULL; k++) {
        const cse_metric_descriptor *d = cse_metrics[k];
        bool least = false, most = false;
        ck_assert(d->summary != NULL && d->arguments != NULL && d->update != NULL);
        ck_assert(d->min_arguments >= 1 && d->max_arguments <= CSE_MAX_METRIC_ARGUMENTS);
        ck_assert(d->state_count <= CSE_MAX_DECLARED_STATES);
        for (int i = 0; i < d->state_count; i++)
            ck_assert(d->states[i].scalar || d->length_setting != NULL);
        for (int i = 0; i < all_count; i++)
            if (all[i].descriptor == d) {
                ck_assert_msg(all[i].sample->source != NULL, "%s: no source", d->name);
                least = least || all[i].sample->argument_count == d->min_arguments;
                most = most || all[i].sample->argument_count == d->max_arguments;
            }
        ck_assert_msg(least && most, "metric %s has no sample with %d and with %d arguments",
                      d->name, d->min_arguments, d->max_arguments);
    }
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
    write_table(&file, all[0].sample, BATCH);
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
    list_samples();
    tcase_add_test(cases, a_descriptor_is_complete);
    tcase_add_loop_test(cases, samples_are_met, 0, all_count);
    tcase_add_loop_test(cases, wrong_settings_are_refused, 0, refusal_count);
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
