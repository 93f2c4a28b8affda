/* Mean and spread over runs, against sums over all of their values. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "dashboard/query/spread.h"

enum { BINS = 3, RUNS = 4 };

/* The points of a run in a range. */
static cse_bin bin(int64_t finite, double sum, int64_t not_finite)
{
    return (cse_bin){ .finite = finite, .sum = sum, .not_finite = not_finite };
}

START_TEST(a_run_counts_once_with_the_mean_of_its_points)
{
    /* Means 1, 2, 6 in the first range, whatever the number of points; one run in the second. */
    const cse_bin runs[RUNS][BINS] = {
        { bin(1, 1, 0), bin(2, -8, 0), bin(0, 0, 0) },
        { bin(100, 200, 1), bin(0, 0, 0), bin(0, 0, 0) },
        { bin(2, 12, 0), bin(0, 0, 3), bin(0, 0, 0) },
        { bin(0, 0, 0), bin(0, 0, 0), bin(0, 0, 0) },
    };
    cse_spread spread;
    cse_spread_start(&spread, BINS);
    for (int r = 0; r < RUNS; r++)
        cse_spread_add(&spread, runs[r]);
    ck_assert_int_eq(spread.runs, 3);
    ck_assert_int_eq(spread.not_finite, 4);
    ck_assert_int_eq(spread.bins[0].runs, 3);
    ck_assert_double_eq(spread.bins[0].mean, 3);
    ck_assert_double_eq_tol(cse_spread_deviation(&spread.bins[0]), sqrt(7), 1e-15);
    ck_assert_double_eq(spread.bins[0].minimum, 1);
    ck_assert_double_eq(spread.bins[0].maximum, 6);
    ck_assert_int_eq(spread.bins[1].runs, 1);
    ck_assert_double_eq(spread.bins[1].mean, -4);
    ck_assert(isnan(cse_spread_deviation(&spread.bins[1])));
    ck_assert_int_eq(spread.bins[2].runs, 0);
    cse_spread_clear(&spread);
}
END_TEST

/* Where a sum of squares would have lost all digits. */
START_TEST(values_far_from_zero_keep_their_digits)
{
    cse_spread spread;
    cse_spread_start(&spread, 1);
    for (int r = 0; r < 3; r++) {
        const cse_bin one = bin(1, 1e9 + r, 0);
        cse_spread_add(&spread, &one);
    }
    ck_assert_double_eq(cse_spread_deviation(&spread.bins[0]), 1);
    cse_spread_clear(&spread);
}
END_TEST

START_TEST(columns_are_of_the_ranges_that_are_kept)
{
    const bool kept[BINS] = { true, false, true };
    const cse_bin run[BINS] = { bin(1, 0.5, 0), bin(0, 0, 0), bin(0, 0, 2) };
    cse_text out = { 0 };
    cse_spread spread;
    cse_spread_start(&spread, BINS);
    cse_spread_add(&spread, run);
    cse_spread_json(&spread, kept, false, &out);
    ck_assert_str_eq(out.data, "{\"runs\":1,\"not_finite\":2,\"mean\":[0.5,null]}");
    cse_text_clear(&out);
    cse_spread_json(&spread, kept, true, &out);
    ck_assert_str_eq(out.data,
                     "{\"runs\":1,\"not_finite\":2,\"mean\":[0.5,null],\"deviation\":[null,null],"
                     "\"minimum\":[0.5,null],\"maximum\":[0.5,null],\"count\":[1,0]}");
    cse_text_clear(&out);
    cse_spread_clear(&spread);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spread");
    TCase *cases = tcase_create("over runs");
    tcase_add_test(cases, a_run_counts_once_with_the_mean_of_its_points);
    tcase_add_test(cases, values_far_from_zero_keep_their_digits);
    tcase_add_test(cases, columns_are_of_the_ranges_that_are_kept);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
