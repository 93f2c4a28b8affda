/* The gradient scaler: its states step by step as the documented rule says, steps that are skipped,
 * and a scale that cannot fall further. */
#include <math.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/reference/grad_scaler.h"
#include "tests/support/prescribed_gradients.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* 3e38 times the scale overflows float32, and so does its square. */
static const double overflow = 3e38;
static const double tolerance = 1e-5; /* 16 steps of float32 roundings of values up to 16 */

START_TEST(scaler_follows_its_table)
{
    prescribed_run run;
    double gradients[SCALER_STEPS][PRESCRIBED_ELEMENTS];
    for (int s = 0; s < SCALER_STEPS; s++)
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            gradients[s][i] = scaler_finite[s] ? 1 : overflow;
    prescribed_run_open(&run, &(prescribed_gradients){ .gradients = (const void *)gradients,
                                                       .steps = SCALER_STEPS,
                                                       .optimizer = "SGD",
                                                       .settings = "{momentum: 0.5}",
                                                       .schedule = "0.5",
                                                       .scaler = reference_scalers[_i].settings });
    double w = 0, momentum = 0;
    int done = 0;
    for (int s = 0; s < SCALER_STEPS; s++) {
        const double *expected = reference_scalers[_i].states[s];
        const traced_run *traced = &run.traced;
        traced_run_step(&run.traced);
        momentum = scaler_finite[s] ? 0.5 * momentum + 1 : momentum;
        w -= scaler_finite[s] ? 0.5 * momentum : 0;
        done += scaler_finite[s];
        ck_assert_double_eq((double)*traced_floats(traced, "grad_scaler.loss_scale"), expected[0]);
        ck_assert_int_eq(traced_int(traced, "grad_scaler.steps_since_rescale"), (int)expected[1]);
        ck_assert_int_eq(traced_int(traced, "grad_scaler.overflows_since_rescale"),
                         (int)expected[2]);
        ck_assert_int_eq(traced_int(traced, "grad_scaler.num_skipped_steps"), (int)expected[3]);
        ck_assert_int_eq(traced_int(traced, "schedulers.0.last_epoch"), done);
        ck_assert_double_eq_tol((double)*run.w, w, tolerance);
        ck_assert_double_eq_tol((double)*traced_floats(traced, "optimizer.w.momentum_buffer"),
                                momentum, tolerance);
    }
    prescribed_run_close(&run);
}
END_TEST

/* The sum of squares of 3e38 overflows at any scale: 1024, then 512, then no scale is left. */
START_TEST(a_scale_that_cannot_fall_further_is_reported)
{
    enum { STEPS = 3 };
    prescribed_run run;
    double gradients[STEPS][PRESCRIBED_ELEMENTS];
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            gradients[s][i] = overflow;
    prescribed_run_open(
        &run, &(prescribed_gradients){
                  .gradients = (const void *)gradients,
                  .steps = STEPS,
                  .optimizer = "SGD",
                  .settings = "{lr: 1.0}",
                  .scaler = "{loss_scale: dynamic, init_scale: 1024, min_loss_scale: 512}" });
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&run.traced);
        const cse_step *step = run.traced.step;
        const cse_fetch_entry *fetch = &step->graph->fetches[step->exhausted_fetch];
        const int32_t *exhausted =
            (const int32_t *)(const void *)(run.traced.run.spaces[CSE_SPACE_FETCH] +
                                            fetch->offset_bytes);
        ck_assert_int_eq(*exhausted, s > 0);
        ck_assert_double_eq((double)*traced_floats(&run.traced, "grad_scaler.loss_scale"), 512);
        ck_assert_double_eq((double)*run.w, 0);
    }
    prescribed_run_close(&run);
}
END_TEST

static const struct {
    const char *settings, *message;
} wrong_scalers[] = {
    { "{loss_scale: sometimes}", "accepted: `dynamic`, a number" },
    { "{loss_scale: -1}", "a number above 0, or 0 for none" },
    { "{loss_scale: dynamic, init_scale: 8, min_loss_scale: 16}", "must be in ascending order" },
    { "{loss_scale: dynamic, min_loss_scale: 1e-9}", "out of range" },
};

START_TEST(wrong_scalers_are_refused)
{
    open_session();
    ck_assert_ptr_null(cse_grad_scaler_new(wrong_scalers[_i].settings));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), wrong_scalers[_i].message) != NULL, "%s",
                  cse_error_message());
    cse_finish();
}
END_TEST

/* As the reference: a loss scale of 0.0, its default, is no loss scaling, and has no states. */
static const char *const no_scaling[] = { NULL, "{}", "{loss_scale: 0.0}", "{loss_scale: 0}" };

START_TEST(a_scale_of_zero_is_none)
{
    double gradients[1][PRESCRIBED_ELEMENTS] = { { 2, 2, 2, 2 } };
    prescribed_run run;
    prescribed_run_open(&run, &(prescribed_gradients){ .gradients = (const void *)gradients,
                                                       .steps = 1,
                                                       .optimizer = "SGD",
                                                       .settings = "{lr: 0.5}",
                                                       .scaler = no_scaling[_i] });
    traced_run_step(&run.traced);
    ck_assert_double_eq((double)*run.w, -1);
    ck_assert_int_eq(cse_graph_find_state(run.traced.step->graph, "grad_scaler.loss_scale"), -1);
    prescribed_run_close(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grad_scaler");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, scaler_follows_its_table, 0, COUNT(reference_scalers));
    tcase_add_test(cases, a_scale_that_cannot_fall_further_is_reported);
    tcase_add_loop_test(cases, a_scale_of_zero_is_none, 0, COUNT(no_scaling));
    tcase_add_loop_test(cases, wrong_scalers_are_refused, 0, COUNT(wrong_scalers));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
