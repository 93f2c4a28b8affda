/* Conditions of alerts: each function against sums that are formed anew from all points, which
 * texts are conditions, and silences. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/status.h"
#include "run/alerts/alert_expression.h"

static cse_alert_expression *parse(const char *text)
{
    cse_alert_expression *e = NULL;
    const cse_status status = cse_alert_expression_parse(text, &e);
    ck_assert_msg(status == CSE_OK, "%s: %s", text, cse_error_message());
    return e;
}

static void add(cse_alert_expression *e, int index, int64_t step, double value)
{
    cse_alert_expression_add(
        e, index, &(cse_alert_value){ .step = step, .time_ms = 1000 * step, .value = value });
    cse_alert_expression_step(e, step, 1000 * step);
}

/* Whether the condition holds with these values of `x`, at steps 1, 2, ... */
static bool holds_after(const char *text, const double *values, int count)
{
    cse_alert_expression *e = parse(text);
    for (int i = 0; i < count; i++)
        add(e, 0, i + 1, values[i]);
    const bool holds = cse_alert_expression_holds(e, 1000 * count);
    cse_alert_expression_destroy(&e);
    return holds;
}

START_TEST(conditions_hold_as_they_are_read)
{
    static const struct {
        const char *text;
        double values[4];
        int count;
        bool holds;
    } cases[] = {
        { "x > 3", { 4 }, 1, true },
        { "x > 3", { 3 }, 1, false },
        { "x >= 3 and x <= 3", { 3 }, 1, true },
        { "x = 3", { 3 }, 1, true },
        { "x == 3", { 3 }, 1, true },
        { "x != 3", { 3 }, 1, false },
        { "1 + 2 * x = 7", { 3 }, 1, true },
        { "(1 + 2) * x = 9", { 3 }, 1, true },
        { "8 / 4 / 2 = x", { 1 }, 1, true },
        { "5 - 2 - 1 = x", { 2 }, 1, true },
        { "-x < 0", { 2 }, 1, true },
        { "not x > 3", { 2 }, 1, true },
        { "not (x > 3 or x < 1)", { 2 }, 1, true },
        /* `and` binds closer than `or` */
        { "x > 0 or x > 0 and x < 0", { 1 }, 1, true },
        { "(x > 0 or x > 0) and x < 0", { 1 }, 1, false },
        { "x > 3", { 0 }, 0, false },     /* no value yet */
        { "not x > 3", { 0 }, 0, false }, /* likewise: nothing is known */
        { "x > 3 or 2 > 1", { 0 }, 0, true },
        { "median(x, 3) = 2", { 9, 1, 2, 3 }, 4, true },
        { "median(x, 4) = 2.5", { 9, 1, 2, 3 }, 4, true },
        { "median(x, 3) > 0", { 1, 2 }, 2, false }, /* too few */
        { "mean(x, 2) = 2.5", { 9, 1, 2, 3 }, 4, true },
        { "max(x) = 9 and min(x) = 1", { 9, 1, 2, 3 }, 4, true },
        { "max(x, 2) = 3 and min(x, 2) = 2", { 9, 1, 2, 3 }, 4, true },
        { "sum(x) = 15 and sum(x, 3) = 6", { 9, 1, 2, 3 }, 4, true },
        { "std(x, 3) = 1", { 9, 1, 2, 3 }, 4, true },
        /* A large value that has left the window leaves nothing behind. */
        { "mean(x, 3) = 2 and std(x, 3) = 1", { 1e30, 1, 2, 3 }, 4, true },
        { "last(x) = 3", { 9, 1, 2, 3 }, 4, true },
        { "change(x, 2) = 2", { 9, 1, 2, 3 }, 4, true },
        { "change(x, 100) = -6", { 9, 1, 2, 3 }, 4, true }, /* since the first */
        { "x > 1 in 2", { 9, 1, 2, 3 }, 4, true },
        { "x > 2 in 2", { 9, 1, 2, 3 }, 4, false },
        { "finite(x)", { 1 }, 1, true },
        { "not finite(x)", { NAN }, 1, true },
        { "not finite(x)", { INFINITY }, 1, true },
        { "x > 3", { NAN }, 1, false },
        { "x != 3", { NAN }, 1, false },
        { "x > 1e300", { INFINITY }, 1, true },
        { "median(x, 3) = 2", { 1, NAN, 3 }, 3, true }, /* of those that are finite */
        { "mean(x, 3) = 2", { 1, INFINITY, 3 }, 3, true },
        { "min(x) = 2", { NAN, 2 }, 2, true },
        { "max(x) > 0", { NAN, NAN }, 2, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(holds_after(cases[i].text, cases[i].values, cases[i].count) == cases[i].holds,
                      "case %zu: %s", i, cases[i].text);
}
END_TEST

START_TEST(other_texts_are_refused_with_the_place)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "ends too early" },
        { "x", "a comparison" },
        { "x >", "a series or a number" },
        { "x > 3 y", "`and`, `or` or the end" },
        { "x > 3 and", "a series or a number" },
        { "x + (y > 3) > 1", "a number on each side" },
        { "x and y > 3", "a condition on each side" },
        { "not x", "a condition on each side" },
        { "median(x) > 3", "a comma" },
        { "median(x, 0) > 3", "1 to 10000" },
        { "median(x, 10001) > 3", "1 to 10000" },
        { "median(x, 2.5) > 3", "1 to 10000" },
        { "mean(x, 2 > 3", "a )" },
        { "(x > 3", "a )" },
        { "x + 1 > 3 in 10", "a series by itself" },
        { "mean(x, 3) > 3 in 10", "a series by itself" },
        { "no step", "`for` and a time" },
        { "no step for 60", "s, min or h" },
        { "x > nan()", "the end" },
        { "x > 0x10", "a series or a number" },
        { "x > 1e999", "a series or a number" },
        { "x > \xc3\xa4", "a series or a number" },
        { "x ; y", "`and`, `or` or the end" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_alert_expression *e = NULL;
        ck_assert_msg(cse_alert_expression_parse(cases[i].text, &e) == CSE_USAGE, "%s",
                      cases[i].text);
        ck_assert_ptr_null(e);
        ck_assert_msg(strstr(cse_error_message(), cases[i].message) != NULL, "%s: %s",
                      cases[i].text, cse_error_message());
    }
}
END_TEST

START_TEST(deep_and_long_texts_are_refused)
{
    cse_alert_expression *e = NULL;
    char text[2000];
    static const struct {
        char first;
        int count;
    } begins[] = { { '(', 500 }, { '-', 900 }, { ' ', 1500 } };
    for (int i = 0; i < 3; i++) {
        memset(text, begins[i].first, (size_t)begins[i].count);
        memcpy(text + begins[i].count, "x > 3", sizeof "x > 3");
        ck_assert_int_eq(cse_alert_expression_parse(text, &e), CSE_USAGE);
    }
    cse_text parts = { 0 };
    for (int i = 0; i < 90; i++)
        cse_text_add(&parts, "%sx > 3", i == 0 ? "" : " or ");
    ck_assert_int_eq(cse_alert_expression_parse(parts.data, &e), CSE_USAGE); /* too many parts */
    cse_text_clear(&parts);
    for (int i = 0; i < 2000; i++) { /* any bytes: a condition or a refusal */
        static const char alphabet[] = "x3(),+-*/<>=! notandorinfinemaxmedian.";
        const int size = rand() % 40;
        for (int k = 0; k < size; k++)
            text[k] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        text[size] = '\0';
        cse_alert_expression_parse(text, &e);
        cse_alert_expression_destroy(&e);
    }
}
END_TEST

/* By definition, from all values: `window` 0: all. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double by_definition(const char *function, const double *values, int count, int window)
{
    const int n = window > 0 ? window : count;
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (int i = count - n; i < count; i++) {
        sum += values[i];
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    double sorted[300];
    memcpy(sorted, values + count - n, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = count - n; i < count; i++)
        squares += (values[i] - sum / n) * (values[i] - sum / n);
    return strcmp(function, "min") == 0      ? low
           : strcmp(function, "max") == 0    ? high
           : strcmp(function, "mean") == 0   ? sum / n
           : strcmp(function, "sum") == 0    ? sum
           : strcmp(function, "median") == 0 ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2
                                             : sqrt(squares / (n - 1));
}

START_TEST(windows_are_those_of_their_definition)
{
    static const char *const functions[] = { "min", "max", "mean", "sum", "std", "median" };
    double values[300];
    for (int round = 0; round < 200; round++) {
        const char *function = functions[round % 6];
        const int count = 2 + rand() % 298,
                  window = rand() % 3 == 0 && round % 6 != 5 ? 0 : 2 + rand() % (count - 1);
        char text[100];
        for (int i = 0; i < count; i++)
            values[i] = (double)(rand() % 2001 - 1000) / 8;
        const double wanted = by_definition(function, values, count, window);
        if (window > 0)
            snprintf(text, sizeof text,
                     "%s(x, %d) - (%.17g) < 1e-6 and %s(x, %d) - (%.17g) > -1e-6", function, window,
                     wanted, function, window, wanted);
        else
            snprintf(text, sizeof text, "%s(x) - (%.17g) < 1e-6 and %s(x) - (%.17g) > -1e-6",
                     function, wanted, function, wanted);
        ck_assert_msg(holds_after(text, values, count), "%s", text);
    }
}
END_TEST

START_TEST(a_series_that_keeps_its_value_has_no_change)
{
    cse_alert_expression *e = parse("skipped > 5 in 100 and loss > 0");
    add(e, 0, 1, 0);
    add(e, 0, 50, 6); /* six at once, then a point at every 64th step */
    add(e, 1, 50, 1);
    ck_assert(cse_alert_expression_holds(e, 50000));
    add(e, 0, 114, 6);
    ck_assert(cse_alert_expression_holds(e, 114000)); /* 14 had none */
    add(e, 1, 151, 1);
    ck_assert(!cse_alert_expression_holds(e, 151000));
    cse_alert_expression_destroy(&e);
}
END_TEST

START_TEST(silence_lasts_from_the_last_step_or_the_beginning)
{
    cse_alert_expression *e = parse("no step for 1 min");
    ck_assert(!cse_alert_expression_holds(e, 10000000)); /* nothing has begun */
    ck_assert(cse_alert_expression_due(e, 0) == INT64_MAX);
    cse_alert_expression_begin(e, 1000000);
    ck_assert_int_eq(cse_alert_expression_due(e, 1000000), 1060000);
    ck_assert(!cse_alert_expression_holds(e, 1059999));
    ck_assert(cse_alert_expression_holds(e, 1060000));
    cse_alert_expression_step(e, 5, 1070000);
    ck_assert(!cse_alert_expression_holds(e, 1080000));
    ck_assert_int_eq(cse_alert_expression_due(e, 1080000), 1130000);
    cse_alert_expression_begin(e, 1100000); /* it goes on after a pause */
    ck_assert_int_eq(cse_alert_expression_due(e, 1100000), 1160000);
    cse_alert_expression_destroy(&e);
    e = parse("no val_loss for 2 h");
    cse_alert_expression_begin(e, 1000);
    add(e, 0, 7, 0.5); /* at 7 s */
    ck_assert_int_eq(cse_alert_expression_due(e, 8000), 7000 + 7200000);
    cse_alert_expression_destroy(&e);
}
END_TEST

START_TEST(its_values_are_told)
{
    cse_text text = { 0 };
    cse_alert_expression *e = parse("x > 3 * median(x, 2) or max(x) > 7 or y < 1");
    add(e, 0, 1, 1);
    add(e, 0, 2, 8.5);
    cse_alert_expression_describe(e, 2000, &text);
    ck_assert_str_eq(text.data, "x 8.5, median(x, 2) 4.75, max(x) 8.5");
    cse_text_clear(&text);
    cse_alert_expression_destroy(&e);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("conditions of alerts");
    tcase_add_test(cases, conditions_hold_as_they_are_read);
    tcase_add_test(cases, other_texts_are_refused_with_the_place);
    tcase_add_test(cases, deep_and_long_texts_are_refused);
    tcase_add_test(cases, windows_are_those_of_their_definition);
    tcase_add_test(cases, a_series_that_keeps_its_value_has_no_change);
    tcase_add_test(cases, silence_lasts_from_the_last_step_or_the_beginning);
    tcase_add_test(cases, its_values_are_told);
    Suite *suite = suite_create("conditions of alerts");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
