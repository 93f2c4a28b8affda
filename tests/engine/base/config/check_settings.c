/* Settings against a table: good values, and every kind of bad one with the position and
 * the hint in its message. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"

static const cse_setting inner[] = {
    { "depth", CSE_SETTING_INTEGER, "2", 1, 9, NULL, "levels", NULL },
    { 0 },
};

static const cse_setting table[] = {
    { "lr", CSE_SETTING_NUMBER, NULL, 0, 10, NULL, "learning rate", NULL },
    { "momentum", CSE_SETTING_NUMBER, "0", 0, 1, NULL, "share of the last update", NULL },
    { "betas", CSE_SETTING_NUMBER_LIST, "[0.9, 0.999]", 0, 1, NULL, "decay rates", NULL },
    { "hidden", CSE_SETTING_INTEGER_LIST, "[500, 300]", 1, 1e6, NULL, "hidden sizes", NULL },
    { "names", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL, "names", NULL },
    { "nesterov", CSE_SETTING_BOOL, "false", 0, 0, NULL, "look ahead", NULL },
    { "steps", CSE_SETTING_INTEGER, "null", 1, 1e300, NULL, "steps", NULL },
    { "mode", CSE_SETTING_CHOICE, "fp32", 0, 0, "fp32|bf16", "payload", NULL },
    { "title", CSE_SETTING_TEXT, "null", 0, 0, NULL, "title", NULL },
    { "file", CSE_SETTING_PATH, "null", 0, 0, NULL, "a file", NULL },
    { "inner", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "inner settings", inner },
    { "model", CSE_SETTING_ANY, "null", 0, 0, NULL, "a plugin", NULL },
    { "num_steps", CSE_SETTING_ALIAS, "null", 0, 0, "steps", "the same as steps", NULL },
    { 0 },
};

START_TEST(defaults_are_values)
{
    cse_settings *settings = NULL;
    ck_assert_int_eq(cse_settings_parse(table, "test", "{lr: 1}", &settings), CSE_OK);
    ck_assert_double_eq(cse_settings_number(settings, "lr"), 1);
    ck_assert_double_eq(cse_settings_number(settings, "momentum"), 0);
    ck_assert_int_eq(cse_settings_count(settings, "betas"), 2);
    ck_assert_double_eq(cse_settings_number_at(settings, "betas", 1), 0.999);
    ck_assert_int_eq(cse_settings_integer_at(settings, "hidden", 0), 500);
    ck_assert_int_eq(cse_settings_count(settings, "names"), 0);
    ck_assert(!cse_settings_has(settings, "steps"));
    ck_assert_str_eq(cse_settings_text(settings, "mode"), "fp32");
    ck_assert_ptr_null(cse_settings_text(settings, "title"));
    ck_assert_int_eq(cse_settings_integer(cse_settings_nested(settings, "inner"), "depth"), 2);
    ck_assert_str_eq(cse_settings_origin(settings, "momentum"), "default");
    ck_assert_str_eq(cse_settings_origin(settings, "lr"), "1:6");
    ck_assert_str_eq(
        cse_settings_canonical(settings),
        "{lr: 1, momentum: 0, betas: [0.9, 0.999], hidden: [500, 300], names: [], "
        "nesterov: false, steps: null, mode: fp32, title: null, file: null, inner: {depth: 2}, "
        "model: null}");
    cse_settings_destroy(&settings);
    ck_assert_ptr_null(settings);
}
END_TEST

START_TEST(a_path_may_begin_with_the_home_directory)
{
    static const struct {
        const char *given, *expected;
    } cases[] = { { "{lr: 1, file: ~/a/b}", "/srv/me/a/b" },
                  { "{lr: 1, file: \"~\"}", "/srv/me" },
                  { "{lr: 1, file: a~/b}", "a~/b" },
                  { "{lr: 1, file: 7}", "7" } };
    setenv("HOME", "/srv/me", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_settings *settings = NULL;
        ck_assert_int_eq(cse_settings_parse(table, "test", cases[i].given, &settings), CSE_OK);
        ck_assert_str_eq(cse_settings_text(settings, "file"), cases[i].expected);
        cse_settings_destroy(&settings);
    }
}
END_TEST

START_TEST(given_values_win)
{
    cse_settings *settings = NULL;
    const char *yaml = "lr: 1e-3\nmomentum: .5\nbetas: [0, 1]\nhidden:\n  - 0x10\n  - 3\n"
                       "names: [a, \"true\", 'b: c']\nnesterov: true\nsteps: 7\nmode: \"bf16\"\n"
                       "title: |\n  two\n  lines\ninner: {depth: 9}\nmodel: {SGD: {lr: 1}}\n";
    ck_assert_int_eq(cse_settings_parse(table, "test", yaml, &settings), CSE_OK);
    ck_assert_double_eq(cse_settings_number(settings, "lr"), 1e-3);
    ck_assert_double_eq(cse_settings_number(settings, "momentum"), 0.5);
    ck_assert_int_eq(cse_settings_integer_at(settings, "hidden", 0), 16);
    ck_assert_str_eq(cse_settings_text_at(settings, "names", 2), "b: c");
    ck_assert(cse_settings_bool(settings, "nesterov"));
    ck_assert_int_eq(cse_settings_integer(settings, "steps"), 7);
    ck_assert_str_eq(cse_settings_text(settings, "title"), "two\nlines\n");
    ck_assert_str_eq(cse_settings_origin(settings, "inner"), "14:8");
    ck_assert_str_eq(cse_settings_canonical(settings),
                     "{lr: 0.001, momentum: 0.5, betas: [0, 1], hidden: [16, 3], names: [a, "
                     "\"true\", \"b: c\"], nesterov: true, steps: 7, mode: bf16, title: "
                     "\"two\\nlines\\n\", file: null, inner: {depth: 9}, model: {SGD: {lr: 1}}}");
    /* The canonical line says the same when it is read again. */
    cse_settings *again = NULL;
    ck_assert_int_eq(cse_settings_parse(table, "test", cse_settings_canonical(settings), &again),
                     CSE_OK);
    ck_assert_str_eq(cse_settings_canonical(settings), cse_settings_canonical(again));
    cse_settings_destroy(&again);
    cse_settings_destroy(&settings);
}
END_TEST

/* Text, and what its message must contain. */
static const struct {
    const char *yaml, *message;
} bad[] = {
    { "", "1:1: the setting \"lr\" is missing (learning rate); add it" },
    { "{lr: 1, momentun: 0}", "1:9: unknown setting \"momentun\"; did you mean \"momentum\"?" },
    { "{lr: 1, zzzzzzz: 0}", "1:9: unknown setting \"zzzzzzz\"; accepted: lr, momentum, betas" },
    { "lr: 1\ninner:\n    dept: 3\n",
      "3:5: unknown setting \"inner.dept\"; did you mean \"depth\"" },
    { "lr: 11",
      "1:5: lr: \"11\" is out of range; accepted: a number from 0 to 10 (learning rate)" },
    { "lr: -1", "1:5: lr: \"-1\" is out of range" },
    { "lr: 1e999", "out of range" },
    { "lr: .nan", "is not a number; accepted: a number from 0 to 10" },
    { "lr: .inf", "is not a number" },
    { "lr: abc", "1:5: lr: \"abc\" is not a number" },
    { "lr: 1 2", "is not a number" },
    { "lr: \"1\"", "is text; remove the quotes" },
    { "lr: \"0,9\"", "\"0,9\" is not a number; write 0.9: the decimal separator is a point" },
    { "lr: 0,9", "\"0,9\" is not a number; write 0.9: the decimal separator is a point" },
    { "{lr: 0,9}", "unknown setting \"9\"; write lr: 0.9: the decimal separator is a point" },
    { "lr: 1,000.5", "is not a number; write 1000.5: digits are not grouped" },
    { "{lr: 1, steps: 1_000}", "is not an integer; write 1000: digits are not grouped" },
    { "{lr: 1, steps: 1e3}", "is not an integer; write 1000; accepted" },
    { "{lr: 1, steps: 2.5}", "\"2.5\" is not an integer; accepted" },
    { "{lr: 1, nesterov: \"true\"}", "is text; remove the quotes" },
    { "{lr: 1, nesterov: [true]}", "a list or mapping, not true or false" },
    { "{lr: 1, file: $HOME/x}", "\"$HOME/x\" has a \"$\", and environment variables are not" },
    { "{lr: 1, file: ~root/x}", "begins with the name of a user" },
    { "{lr: 1, file: \"\"}", "\"\" is empty; write the path itself" },
    { "lr: [1]", "1:5: lr: a list or mapping, not a number" },
    { "lr:", "lr: \"\" is no value" },
    { "{lr: 1, steps: 0}",
      "1:16: steps: \"0\" is out of range; accepted: an integer of at least 1, "
      "or null (steps)" },
    { "{lr: 1, steps: 1.5}", "\"1.5\" is not an integer" },
    { "{lr: 1, steps: 99999999999999999999}", "is out of range" },
    { "{lr: 1, nesterov: yes}", "\"yes\" is neither true nor false; write true; accepted: true or "
                                "false" },
    { "{lr: 1, mode: bf61}", "did you mean \"bf16\"?; accepted: one of fp32, bf16 (payload)" },
    { "{lr: 1, hidden: 5}", "is no list; write [5]; accepted: a list of integers, each from 1" },
    { "lr: 1\nhidden: [5,\n 0]", "3:2: hidden: \"0\" is out of range" },
    { "{lr: 1, betas: [0.9, ]}", NULL },
    { "{lr: 1, betas: [0.9, null]}", "an entry of the list is empty" },
    { "{lr: 1, inner: 5}", "1:16: inner: a mapping of settings belongs here" },
    { "[1, 2]", "1:1: a mapping of settings belongs here" },
    { "{lr: 1, steps: 7, num_steps: 7}",
      "1:30: num_steps and steps are names of the same setting; keep one of them" },
    { "{lr: 1, num_steps: 0}", "1:20: num_steps: \"0\" is out of range" },
    { "{lr: 1, lr: 2}", "1:9: the key \"lr\" appears twice in one mapping (first at 1:2)" },
    { "{lr: 1", "check brackets, quotes and indentation" },
    { "lr: !!float 1", "tags (!name) are not accepted" },
    { "{lr: 1, names: *x}", "*x: no complete value before it has the anchor &x" },
    { "lr: 1\n---\nlr: 2\n", "a second document begins here" },
    { "? [a]\n: 1\n", "a key must be a plain word" },
    { "lr: \"\xff\"", "1:6: a byte that is not UTF-8" },
    { "lr: \x01", "1:5: a control character" },
};

START_TEST(bad_input_is_explained)
{
    cse_settings *settings = NULL;
    cse_status status = cse_settings_parse(table, "optimizer SGD", bad[_i].yaml, &settings);
    if (bad[_i].message == NULL) {
        ck_assert_int_eq(status, CSE_OK);
        cse_settings_destroy(&settings);
        return;
    }
    ck_assert_int_eq(status, CSE_CONFIG);
    ck_assert_ptr_null(settings);
    ck_assert_msg(strncmp(cse_error_message(), "optimizer SGD: ", 15) == 0, "%s",
                  cse_error_message());
    ck_assert_msg(strstr(cse_error_message(), bad[_i].message) != NULL, "for %s got: %s",
                  bad[_i].yaml, cse_error_message());
}
END_TEST

START_TEST(an_alias_is_a_name_of_its_setting)
{
    cse_settings *settings = NULL;
    ck_assert_int_eq(cse_settings_parse(table, "test", "{lr: 1, num_steps: 7}", &settings), CSE_OK);
    ck_assert_int_eq(cse_settings_integer(settings, "steps"), 7);
    ck_assert(cse_settings_given(settings, "steps"));
    ck_assert_str_eq(cse_settings_origin(settings, "steps"), "1:20");
    ck_assert_ptr_nonnull(strstr(cse_settings_canonical(settings), "steps: 7"));
    ck_assert_ptr_null(strstr(cse_settings_canonical(settings), "num_steps"));
    cse_settings_destroy(&settings);
}
END_TEST

START_TEST(anchors_are_copied)
{
    cse_settings *settings = NULL;
    ck_assert_int_eq(
        cse_settings_parse(table, "t", "{lr: 1, hidden: &h [7], model: *h}", &settings), CSE_OK);
    ck_assert_str_eq(cse_settings_canonical(settings) + strlen(cse_settings_canonical(settings)) -
                         strlen("model: [7]}"),
                     "model: [7]}");
    cse_settings_destroy(&settings);
}
END_TEST

START_TEST(a_section_keeps_its_places)
{
    cse_settings *settings = NULL, *plugin = NULL;
    const char *yaml = "lr: 1\nmodel:\n  lr: 2\n  momentum: 3\n";
    const cse_settings_expected expected = { .table = table, .subject = "model x" };
    ck_assert_int_eq(cse_settings_parse(table, "t", yaml, &settings), CSE_OK);
    ck_assert_str_eq(cse_settings_text(settings, "model"), "{lr: 2, momentum: 3}");
    ck_assert_int_eq(cse_settings_check(settings->arena, &expected,
                                        cse_settings_node(settings, "model"), &plugin),
                     CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), "model x: 4:13: momentum: \"3\" is out of range"),
                  "%s", cse_error_message());
    cse_settings_destroy(&settings);
}
END_TEST

/* Defaults are read without the YAML parser, to the values that it would give. */
static const struct {
    const char *text;
    cse_yaml_kind kind;
    int count;
} literals[] = {
    { "null", CSE_YAML_SCALAR, 0 },
    { "0.5", CSE_YAML_SCALAR, 0 },
    { "\",\"", CSE_YAML_SCALAR, 0 },
    { "/usr/share/x", CSE_YAML_SCALAR, 0 },
    { "{}", CSE_YAML_MAPPING, 0 },
    { "[]", CSE_YAML_SEQUENCE, 0 },
    { "[0.9, 0.999]", CSE_YAML_SEQUENCE, 2 },
    { "[a, \"true\", b]", CSE_YAML_SEQUENCE, 3 },
    { "[\"[CLS]\", \"a, b\", '{c}', \"\\\"\"]", CSE_YAML_SEQUENCE, 4 },
    { "[[1, 2], {a: [3]}]", CSE_YAML_SEQUENCE, 2 },
    { "{a: 1, b: [x, y]}", CSE_YAML_MAPPING, 2 },
};

START_TEST(a_literal_is_what_yaml_makes_of_it)
{
    cse_arena *arena = cse_arena_new();
    const char *text = literals[_i].text;
    const cse_yaml_node *literal = cse_yaml_literal(arena, (cse_place){ "x", 0, 0 }, text);
    cse_yaml_node *parsed = NULL;
    cse_text expected = { 0 }, printed = { 0 };
    ck_assert_int_eq(cse_yaml_parse(arena, "", text, strlen(text), &parsed), CSE_OK);
    cse_yaml_print(parsed, &expected);
    cse_yaml_print(literal, &printed);
    ck_assert_str_eq(printed.data, expected.data);
    ck_assert_int_eq(literal->kind, literals[_i].kind);
    ck_assert_int_eq(literal->count, literals[_i].count);
    cse_text_clear(&expected);
    cse_text_clear(&printed);
    cse_arena_destroy(&arena);
}
END_TEST

START_TEST(a_missing_name_ends_the_process)
{
    cse_settings *settings = NULL;
    ck_assert_int_eq(cse_settings_parse(table, "t", "{lr: 1}", &settings), CSE_OK);
    cse_settings_integer(settings, "lr");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, defaults_are_values);
    tcase_add_test(cases, given_values_win);
    tcase_add_test(cases, a_path_may_begin_with_the_home_directory);
    tcase_add_loop_test(cases, bad_input_is_explained, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(cases, an_alias_is_a_name_of_its_setting);
    tcase_add_test(cases, anchors_are_copied);
    tcase_add_test(cases, a_section_keeps_its_places);
    tcase_add_loop_test(cases, a_literal_is_what_yaml_makes_of_it, 0,
                        sizeof literals / sizeof literals[0]);
    tcase_add_test_raise_signal(cases, a_missing_name_ends_the_process, 6);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
