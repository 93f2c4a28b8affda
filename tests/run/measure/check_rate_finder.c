/* What is found in curves of losses whose answer is known. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "run/measure/rate_finder.h"

enum { STEPS = 101 };

static const cse_rate_finder_options plain = {
    .first = 1e-6, .last = 1e4, .steps = STEPS, .smoothing = 0, .divergence = 4
};

/* A logistic fall whose steepest point is at 1e-2, and a rise from 1e1 on. */
static void fill(float *losses)
{
    for (int i = 0; i < STEPS; i++) {
        const double decade = -6 + 0.1 * i;
        losses[i] = (float)(1 + 2 / (1 + exp(4 * (decade + 2))) + exp(6 * (decade - 1.5)));
    }
}

START_TEST(the_steepest_and_the_least_are_found)
{
    float losses[STEPS];
    cse_found_rates found;
    fill(losses);
    cse_rates_judge(&plain, losses, STEPS, &found);
    ck_assert(found.diverged);
    ck_assert_double_eq_tol(log10(found.points[found.steepest].rate), -2, 0.11);
    ck_assert_double_le(fabs(log10(found.points[found.least].rate) - 0.3), 0.8);
    ck_assert_double_eq_tol(found.points[0].rate, 1e-6, 1e-18);
    /* The loss is 4 times its least value of 1 between 10^1.6 and 10^1.7. */
    ck_assert_double_eq_tol(log10(found.points[found.count - 1].rate), 1.7, 0.01);
    cse_found_rates_clear(&found);
}
END_TEST

/* Each average is the weighted mean of the losses so far: of equal ones it is their value. */
START_TEST(smoothing_has_no_bias)
{
    float losses[STEPS];
    cse_found_rates found;
    cse_rate_finder_options smooth = plain;
    smooth.smoothing = 0.95;
    for (int i = 0; i < STEPS; i++)
        losses[i] = 3;
    cse_rates_judge(&smooth, losses, STEPS, &found);
    ck_assert_int_eq(found.count, STEPS);
    ck_assert(!found.diverged);
    for (int i = 0; i < STEPS; i++)
        ck_assert_double_eq_tol(found.points[i].smoothed, 3, 1e-9);
    cse_found_rates_clear(&found);
    losses[1] = 5; /* (0.95 * 3 + 5) / 1.95 */
    cse_rates_judge(&smooth, losses, 2, &found);
    ck_assert_double_eq_tol(found.points[1].smoothed, 7.85 / 1.95, 1e-9);
    cse_found_rates_clear(&found);
}
END_TEST

START_TEST(a_loss_that_is_no_number_is_the_end)
{
    float losses[STEPS];
    cse_found_rates found;
    fill(losses);
    losses[30] = NAN;
    cse_rates_judge(&plain, losses, STEPS, &found);
    ck_assert(found.diverged);
    ck_assert_int_eq(found.count, 30);
    cse_found_rates_clear(&found);
    losses[0] = INFINITY;
    cse_rates_judge(&plain, losses, STEPS, &found);
    ck_assert_int_eq(found.count, 0);
    ck_assert_int_eq(found.steepest, -1);
    cse_found_rates_clear(&found);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rate_finder");
    Suite *suite = suite_create("rate_finder");
    tcase_add_test(tests, the_steepest_and_the_least_are_found);
    tcase_add_test(tests, smoothing_has_no_bias);
    tcase_add_test(tests, a_loss_that_is_no_number_is_the_end);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
