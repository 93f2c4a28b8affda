/* Depth of brackets in texts, found before a parser sees them. */
#include "engine/base/nesting.h"

#include <check.h>
#include <string.h>

START_TEST(json_depth_is_exact)
{
    static const struct {
        const char *text;
        int depth;
    } rows[] = { { "", 0 },
                 { "1", 0 },
                 { "[]", 1 },
                 { "[[],[{}]]", 3 },
                 { "{\"[[[[\": \"]]\\\"[[[\"}", 1 },
                 { "\"\\\\\"[[", 2 },
                 { "[\"a\\", 1 },
                 { "]]]]", 0 } };
    cse_nesting where;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = strlen(rows[i].text);
        ck_assert_msg(cse_nesting_json(rows[i].text, size, rows[i].depth, &where), "%zu", i);
        ck_assert_msg(rows[i].depth == 0 ||
                          !cse_nesting_json(rows[i].text, size, rows[i].depth - 1, &where),
                      "%zu", i);
    }
    ck_assert(!cse_nesting_json("{\n  \"a\": [", 10, 1, &where));
    ck_assert_int_eq(where.line, 2);
    ck_assert_int_eq(where.column, 8);
}
END_TEST

/* Never fewer than there are, whatever hides the ends. */
START_TEST(yaml_depth_is_no_less)
{
    static const struct {
        const char *text;
        int least;
    } rows[] = { { "a: [1, 2]\nb: [3, {c: 4}]\n", 2 },
                 { "[[[", 3 },
                 { "it's [[", 2 },
                 { "[\"]\",[\"]\",[", 3 },
                 { "[']', [']', [", 3 },
                 { "[ # ]\n [ # ]\n [", 3 },
                 { "\"[\" [", 1 },
                 { "{a: {b: {c: ", 3 } };
    cse_nesting where;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(
            !cse_nesting_yaml(rows[i].text, strlen(rows[i].text), rows[i].least - 1, &where), "%zu",
            i);
    char text[] = "a: [1, 2]\nb: [3, {c: 4}]\n";
    ck_assert(cse_nesting_yaml(text, strlen(text), 2, &where));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nesting");
    TCase *cases = tcase_create("nesting");
    tcase_add_test(cases, json_depth_is_exact);
    tcase_add_test(cases, yaml_depth_is_no_less);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
