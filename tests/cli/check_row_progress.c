/* The time left of a table of trainings, and its line at every width. */
#include "cli/terminal/live_line.c"
#include "cli/terminal/progress_line.c"
#include "cli/terminal/report.c"
#include "cli/terminal/row_progress.c"

#include <check.h>

START_TEST(the_line_fits_and_says_the_row_first)
{
    cse_row_progress rows = { .word = "row",
                              .rows = 25,
                              .steps = 500,
                              .done = 2,
                              .step = 120,
                              .name = "bf16 POL 1",
                              .seconds = 20 };
    for (int width = 0; width <= 200; width++) {
        char text[512];
        cse_rows_line(&rows, width, text);
        ck_assert_msg((int)strlen(text) <= width, "%d: %s", width, text);
        ck_assert_msg(width < 8 || strncmp(text, "row 3/25", 8) == 0, "%d: %s", width, text);
        /* 10 s a row and 23 rows: 230 s. */
        ck_assert_msg(width < 18 || strstr(text, "3:50 left") != NULL, "%d: %s", width, text);
        ck_assert_msg(width < 43 || strcmp(text, "row 3/25 3:50 left step 120/500 bf16 POL 1") == 0,
                      "%d: %s", width, text);
    }
}
END_TEST

START_TEST(the_time_left_is_known_from_the_first_steps_on)
{
    cse_row_progress rows = { .word = "row", .rows = 4, .steps = 100 };
    ck_assert(isnan(cse_rows_seconds_left(&rows)));
    rows.row_ns = cse_clock_ns() - INT64_C(10000000000);
    rows.step = 50;
    /* 10 s for the half of a row: 20 s each, 80 s in all, 70 s left. */
    double left = cse_rows_seconds_left(&rows);
    ck_assert(left > 60 && left <= 70.1);
    rows.rows = 0;
    ck_assert(isnan(cse_rows_seconds_left(&rows)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row progress");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, the_line_fits_and_says_the_row_first);
    tcase_add_test(cases, the_time_left_is_known_from_the_first_steps_on);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
