/* Learning rates step by step against PyTorch and the documented formulas. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/schedules/schedule.h"
#include "tests/reference/optimizers.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char data[] = "{data_processor: synthetic, samples: 8, features: [2], classes: 2, "
                           "batch_size: 1}";

static cse_tensor *step_function(cse_step *step, void *self)
{
    const cse_schedule *schedule = self;
    cse_tensor *t = cse_read(schedule->last_epoch);
    cse_tensor *rate = cse_schedule_part_rate(schedule->part, t);
    cse_assign(schedule->last_epoch, cse_add(t, cse_constant_int(1)));
    cse_step_fetch(step, "rate", rate);
    return NULL;
}

static cse_schedule *make(const char *settings)
{
    open_session();
    cse_model *model = cse_compile(cse_model_new("fc_mnist", "{hidden_sizes: [2], input_size: 2}"));
    return cse_configure_schedule(cse_configure_optimizer("SGD", model, NULL), settings);
}

START_TEST(schedule_equals_the_reference)
{
    traced_run traced;
    cse_schedule *schedule = make(reference_schedules[_i].settings);
    traced_run_open(&traced, data, step_function, schedule);
    for (int t = 0; t < REFERENCE_RATES; t++) {
        traced_run_step(&traced);
        /* Four float32 roundings of values up to 0.5. */
        double rate = (double)straight_run_fetched(&traced.run, 0);
        ck_assert_msg(fabs(rate - reference_schedules[_i].rates[t]) < 2e-7,
                      "%s: lr(%d) is %.9g, "
                      "expected %.9g",
                      reference_schedules[_i].name, t, rate, reference_schedules[_i].rates[t]);
    }
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

static const struct {
    const char *settings, *message;
} wrong[] = {
    { "{scheduler: CosineDecyLR}", "did you mean" },
    { "{LinearLR: {initial_learning_rate: 1}}", "end_learning_rate" },
    { "{LinearLR: {initial_learning_rate: 1, end_learning_rate: 0, total_iters: 0}}",
      "out of range" },
    { "[{ConstantLR: {learning_rate: 1}}, 0.1]", "needs total_iters" },
    { "{SequentialLR: {schedulers: [0.1, 0.2], milestones: [1, 2]}}", "has 2 entries" },
    { "{SequentialLR: {schedulers: [0.1, 0.2, 0.3], milestones: [5, 5]}}", "must be greater" },
    { "{SequentialLR: {schedulers: 3}}", "must be a list" },
    { "{a: 1, b: 2}", "accepted are" },
    { "", "accepted are" },
    { "{LinearLR: ", "schedule" },
};

START_TEST(wrong_settings_are_named)
{
    ck_assert_ptr_null(make(wrong[_i].settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

START_TEST(every_schedule_has_reference_values)
{
    for (int k = 0; cse_schedules[k] != NULL; k++) {
        bool covered = strcmp(cse_schedules[k]->name, "ConstantLR") == 0;
        for (int r = 0; r < COUNT(reference_schedules); r++)
            covered = covered || strstr(reference_schedules[r].settings, cse_schedules[k]->name);
        ck_assert_msg(covered, "schedule %s has no reference values", cse_schedules[k]->name);
        ck_assert_ptr_nonnull(cse_schedules[k]->summary);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedules");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, schedule_equals_the_reference, 0, COUNT(reference_schedules));
    tcase_add_loop_test(cases, wrong_settings_are_named, 0, COUNT(wrong));
    tcase_add_test(cases, every_schedule_has_reference_values);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
