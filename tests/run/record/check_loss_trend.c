/* Which series of losses have diverged, by the definition in run/record/loss_trend.h: curves of
 * formulas, with noise, from zero, from below it, with one high value, and with what is no number.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "run/record/loss_trend.h"

#define FACTOR 1000.0
enum { MOST = 2000 };

static double series[MOST];

static cse_loss_verdict judge(int count, double factor)
{
    cse_loss_trend trend = { .begun = true };
    for (int i = 0; i < count; i++)
        cse_loss_trend_add(&trend, series[i]);
    return cse_loss_trend_judge(&trend, factor);
}

static bool diverges(int count)
{
    return judge(count, FACTOR).diverged;
}

static void fill(int count, double (*value)(int step))
{
    for (int i = 0; i < count; i++)
        series[i] = value(i);
}

static double falls(int step)
{
    return 2.3 * exp(-step / 100.0) + 0.1;
}
static double is_noisy(int step)
{
    return step % 7 == 0 ? 200 : 0.01 * (step % 5);
}
static double rises_as_of_a_gan(int step)
{
    return 0.69 + 0.02 * step;
}
static double begins_at_zero(int step)
{
    return step == 0 ? 0 : fmin(step, 900);
}
static double begins_below_zero(int step)
{
    return -3.5 + 0.004 * step;
}
static double goes_far_below_zero(int step)
{
    return -pow(10, step / 40.0);
}
static double is_of_great_numbers(int step)
{
    return 1e9 * (1 + 0.5 * sin(step));
}
static double learns_late(int step)
{
    return step < 200 ? 5 * (1 + step) : 1000.0 / step;
}

START_TEST(what_trains_has_not_diverged)
{
    static double (*const curves[])(int step) = {
        falls,
        is_noisy,
        rises_as_of_a_gan,
        begins_at_zero,
        begins_below_zero,
        goes_far_below_zero,
        is_of_great_numbers,
        learns_late,
    };
    const int counts[] = { 1, 2, 5, 10, 11, 100, MOST };
    for (size_t c = 0; c < sizeof curves / sizeof curves[0]; c++) {
        fill(MOST, curves[c]);
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
            ck_assert_msg(!diverges(counts[n]), "curve %zu, %d steps", c, counts[n]);
    }
    ck_assert(!judge(0, FACTOR).diverged);
}
END_TEST

static double explodes_at_once(int step)
{
    return step == 0 ? 1.39 : 1e9 * step;
}
static double explodes_by_steps(int step)
{
    return fmin(1.39 * pow(300, step), 1e300);
}
static double explodes_late(int step)
{
    return step < 60 ? falls(step) : 1e5;
}
static double explodes_from_zero(int step)
{
    return step < 20 ? 1e-6 : 1001;
}
static double explodes_from_below_zero(int step)
{
    return step < 20 ? -5 : 5001;
}

START_TEST(what_explodes_has_diverged_from_its_second_step_on)
{
    fill(MOST, explodes_at_once);
    for (int count = 2; count < 100; count++)
        ck_assert_msg(diverges(count), "%d steps", count);
    ck_assert(!diverges(1));
    fill(MOST, explodes_by_steps);
    ck_assert(diverges(20) && diverges(100));
    fill(100, explodes_late);
    ck_assert(diverges(100) && diverges(70) && !diverges(60));
    fill(100, explodes_from_zero);
    ck_assert(diverges(100));
    fill(100, explodes_from_below_zero);
    ck_assert(diverges(100));
}
END_TEST

START_TEST(the_limit_is_the_factor_times_the_size_of_the_first_steps)
{
    const double first[] = { 2, -3, 19, 21, (double)NAN, 7, 1, 1, 1, 1 }; /* 21 > 10 * 2 */
    for (int i = 0; i < 10; i++)
        series[i] = first[i];
    for (int i = 10; i < 40; i++)
        series[i] = 1900;
    ck_assert_double_eq(judge(40, 100).size, 19);
    ck_assert_double_eq(judge(40, 100).limit, 1900);
    ck_assert_double_eq(judge(40, 100).last, 1900);
    ck_assert(!judge(40, 100).diverged);
    series[39] = series[38] = series[37] = series[36] = 1901; /* four of ten */
    ck_assert(!judge(40, 100).diverged);
    series[35] = 1901; /* the upper median */
    ck_assert(judge(40, 100).diverged);
    ck_assert(!judge(40, 0).diverged); /* off */
}
END_TEST

START_TEST(one_loss_that_is_no_number_among_the_last_ten_suffices)
{
    const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    for (int o = 0; o < 3; o++) {
        fill(100, falls);
        series[89] = odd[o];
        ck_assert(!diverges(100));
        series[90] = odd[o];
        ck_assert(diverges(100));
        ck_assert(isnan(judge(100, FACTOR).last));
        ck_assert(!judge(100, 0).diverged);
        series[0] = odd[o];
        ck_assert(diverges(1));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss trend");
    TCase *cases = tcase_create("series");
    tcase_add_test(cases, what_trains_has_not_diverged);
    tcase_add_test(cases, what_explodes_has_diverged_from_its_second_step_on);
    tcase_add_test(cases, the_limit_is_the_factor_times_the_size_of_the_first_steps);
    tcase_add_test(cases, one_loss_that_is_no_number_among_the_last_ten_suffices);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
