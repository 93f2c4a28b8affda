/* The contract of every schedule (run/contracts/of_schedule.c), and the forms in which a
 * configuration gives a schedule. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/nn/plugins.h"
#include "tests/samples/contract.h"
#include "tests/support/traced_run.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char data[] = "{data_processor: synthetic, samples: 8, features: [2], classes: 2, "
                           "batch_size: 1}";

/* The learning rate as a fetched value; the step number is left for the test to set. */
static cse_tensor *step_function(cse_step *step, void *self)
{
    const cse_schedule *schedule = self;
    cse_tensor *t = cse_read(schedule->last_epoch);
    cse_tensor *rate = cse_schedule_part_rate(schedule->part, t);
    cse_assign(schedule->last_epoch, cse_add(t, cse_constant_int(1)));
    cse_step_fetch(step, "rate", rate);
    return NULL;
}

static cse_schedule *make(const char *text)
{
    open_session();
    cse_model *model = cse_compile(cse_model_new("fc_mnist", "{hidden_sizes: [2], input_size: 2}"));
    return cse_configure_schedule(cse_configure_optimizer("SGD", model, NULL), text);
}

static void check_points(const char *text, const cse_schedule_sample *sample)
{
    traced_run traced;
    double tolerance = sample->tolerance > 0 ? sample->tolerance : 2e-7;
    ck_assert_msg(sample->source != NULL, "%s: no source", text);
    traced_run_open(&traced, data, step_function, make(text));
    int32_t *t = (int32_t *)(void *)traced_floats(&traced, "schedulers.0.last_epoch");
    for (int i = 0; i < CSE_SCHEDULE_SAMPLE_POINTS; i++) {
        for (int other = 0; other < i; other++)
            ck_assert_msg(sample->points[other].t != sample->points[i].t, "%s: t = %d twice", text,
                          sample->points[i].t);
        *t = sample->points[i].t;
        traced_run_step(&traced);
        ck_assert_int_eq(*t, sample->points[i].t + 1);
        double rate = (double)straight_run_fetched(&traced.run, 0);
        ck_assert_msg(fabs(rate - sample->points[i].learning_rate) < tolerance,
                      "%s: lr(%d) is %.9g, expected %.9g (%s)", text, sample->points[i].t, rate,
                      sample->points[i].learning_rate, sample->source);
    }
    traced_run_close(&traced);
    cse_finish();
}

static void expect_refused(const char *text, const char *part)
{
    ck_assert_ptr_null(make(text));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s: %s", text, cse_error_message());
    cse_finish();
}

START_TEST(the_contract_is_kept)
{
    contract_check("schedule", cse_schedules, _i);
}
END_TEST

/* ---- the forms of the setting: by hand ---- */

static const cse_schedule_sample forms[] = {
    { .settings = "0.125",
      .source = "a number is ConstantLR",
      .points = { { 0, 0.125 },
                  { 1, 0.125 },
                  { 2, 0.125 },
                  { 3, 0.125 },
                  { 4, 0.125 },
                  { 5, 0.125 },
                  { 6, 0.125 },
                  { 7, 0.125 } } },
    { .settings = "{scheduler: LinearLR, initial_learning_rate: 0.5, end_learning_rate: 0.25, "
                  "total_iters: 4}",
      .source = "the name beside the settings",
      .points = { { 0, 0.5 },
                  { 1, 0.4375 },
                  { 2, 0.375 },
                  { 3, 0.3125 },
                  { 4, 0.25 },
                  { 5, 0.25 },
                  { 6, 0.25 },
                  { 7, 0.25 } } },
    { .settings = "[{LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.5, total_iters: "
                  "2}}, {scheduler: ConstantLR, learning_rate: 0.125, total_iters: 3}, 0.25]",
      .source = "a list is SequentialLR, each part for its total_iters",
      .points = { { 0, 0 },
                  { 1, 0.25 },
                  { 2, 0.125 },
                  { 3, 0.125 },
                  { 4, 0.125 },
                  { 5, 0.25 },
                  { 6, 0.25 },
                  { 7, 0.25 } } },
    { .settings = "[{scheduler: steplr, initial_learning_rate: 0.5, step_size: 2, gamma: 0.5}, "
                  "{scheduler: MultiStepLR, main_scheduler: chained, initial_learning_rate: 0.25, "
                  "gamma: 0.5, milestones: [3]}]",
      .source = "a list with main_scheduler: chained is a product; names of any case",
      .points = { { 0, 0.5 },
                  { 1, 0.5 },
                  { 2, 0.25 },
                  { 3, 0.125 },
                  { 4, 0.0625 },
                  { 5, 0.0625 },
                  { 6, 0.03125 },
                  { 7, 0.03125 } } },
};

START_TEST(forms_are_understood)
{
    check_points(forms[_i].settings, &forms[_i]);
}
END_TEST

static const struct {
    const char *text, *message;
} wrong[] = {
    { "{scheduler: CosineDecyLR}", "did you mean" },
    { "[{ConstantLR: {learning_rate: 1}}, 0.1]", "needs total_iters" },
    { "{a: 1, b: 2}", "accepted are" },
    { "", "accepted are" },
    { "[{ConstantWD: {val: 0.1}}]", "the learning rate must have one" },
    { "{SequentialLR: {schedulers: [{ConstantWD: {val: 1, total_iters: 2}}, 0.1]}}",
      "cannot be a part" },
    { "[0.1, {ConstantWD: {initial_val: 0.1}}]", "initial_learning_rate" },
    { "[{ConstantMomentum: {val: 0.9}}]", "the learning rate must have one" },
    { "[0.1, {ConstantMomentum: {val: 0.9}}]", "give it a momentum above 0" },
    { "[0.1, {SequentialWD: {schedulers: [{ConstantMomentum: {val: 1, total_iters: 2}}, 0.1]}}]",
      "cannot be a part of one of weight decay" },
    { "[0.1, {CosineDacayWD: {}}]", "CosineDecayLR" },
    { "[0.1, {CosineAnnealingWarmRestartsWD: {T_0: 0}}]", "schedule CosineAnnealingWarmRestarts" },
    { "[0.1, {chainedWD: {schedulers: []}}]", "schedule ChainedScheduler" },
    { "[0.1, {scheduler: ConstantLR, learning_rate: 1, main_scheduler: parallel}]",
      "sequential and chained" },
    { "{LinearLR: ", "schedule" },
};

START_TEST(wrong_forms_are_refused)
{
    expect_refused(wrong[_i].text, wrong[_i].message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedules");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_schedules));
    tcase_add_loop_test(cases, forms_are_understood, 0, COUNT(forms));
    tcase_add_loop_test(cases, wrong_forms_are_refused, 0, COUNT(wrong));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
