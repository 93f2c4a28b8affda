/* Lines of JSON as people have them: members that are asked for, and whatever stands in others. */
#include "dataloader/formats/json_line.h"
#include "tests/dataloader/fixture.h"

static const char *const names[] = { "x", "y", NULL };

static cse_status read_line(const char *line, json_t **object)
{
    return cse_json_line_read(line, strlen(line), names, object);
}

/* `x` as JSON prints it; NULL: the line does not have it. */
static void expect_x(const char *line, const char *expected)
{
    json_t *object = NULL;
    fixture_expect(read_line(line, &object), CSE_OK, NULL);
    const json_t *x = json_object_get(object, "x");
    char *text = x != NULL ? json_dumps(x, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (expected == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, expected);
    free(text);
    json_decref(object);
}

START_TEST(members_that_are_asked_for)
{
    expect_x("{\"x\": [1, 2.5, -3e2], \"z\": 1}", "[1.0,2.5,-300.0]");
    expect_x("{\"x\": \"a \\\"b\\\" \\u00e9\\ud83d\\ude00\"}", "\"a \\\"b\\\" é😀\"");
    expect_x("{\"\\u0078\": true}", "true");
    expect_x("{\"x\": 1, \"x\": 2}", "2.0"); /* the last one, as Python's json has it */
    expect_x("{\"x\": [NaN, Infinity, -Infinity, \"NaN\"]}", "[null,null,null,\"NaN\"]");
    expect_x("{\"x\": {\"y\": [{}, []]}, \"y\": 1}", "{\"y\":[{},[]]}");
    expect_x("{}", NULL);
    expect_x("{\"z\": {\"x\": 1}}", NULL);
    expect_x("\xef\xbb\xbf{\"x\": 1}", "1.0");
    expect_x(" {\"x\" : 1 } \r", "1.0");
}
END_TEST

START_TEST(others_may_hold_anything)
{
    expect_x("{\"z\": NaN, \"x\": 1}", "1.0");
    expect_x("{\"z\": [1, {\"a\": -Infinity}], \"x\": 1}", "1.0");
    expect_x("{\"z\": 123456789012345678901234567890, \"x\": 1}", "1.0");
    expect_x("{\"z\": 1e999, \"x\": 1}", "1.0");
    expect_x("{\"z\": \"\\ud800\", \"x\": 1}", "1.0");
    expect_x("{\"z\": \"]}, \\\\\\\"\", \"x\": 1}", "1.0");
}
END_TEST

START_TEST(refused_with_what_to_do)
{
    static const struct {
        const char *line, *part;
    } rows[] = {
        { "[1, 2]", "column 1: no JSON: the line begins a list" },
        { "[", "jq -c '.[]'" },
        { "{", "expected a text in double quotes" },
        { "{\"x\": 1", "the object does not end on its line" },
        { "{\"x\": 1,", "expected a text in double quotes" },
        { "{\"x\": [1, 2", "does not end on this line" },
        { "{\"x\": \"a}", "no closing quote" },
        { "{\"x\": tru}", "column 7: no JSON: expected a value" },
        { "{\"x\" 1}", "expected a colon" },
        { "{\"x\": 1} {\"x\": 2}", "something follows the object" },
        { "{\"x\": \"\\ud800\"}", "half of a surrogate pair" },
        { "{\"x\": 1.2.3}", "member \"x\": no JSON" },
        { "{'x': 1}", "double quotes" },
        { "x,y", "each line must be an object" },
        { "\xff\xfe{", "UTF-16" },
    };
    json_t *object = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_expect(read_line(rows[i].line, &object), CSE_DATA, rows[i].part);
        ck_assert_ptr_null(object);
    }
    fixture_expect(cse_json_line_read("{\0\"", 3, names, &object), CSE_DATA, "UTF-16");
}
END_TEST

START_TEST(whole_numbers)
{
    int32_t number = 7;
    static const double good[] = { 0, -5, 2147483647, -2147483648.0 };
    static const double bad[] = { 0.5, 2147483648.0, -2147483649.0, 1e30 };
    for (int i = 0; i < 4; i++) {
        json_t *value = json_real(good[i]);
        ck_assert(cse_json_int32(value, &number) && number == (int32_t)good[i]);
        json_decref(value);
        value = json_real(bad[i]);
        ck_assert(!cse_json_int32(value, &number));
        json_decref(value);
    }
    ck_assert(!cse_json_int32(NULL, &number));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("json_line");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, members_that_are_asked_for);
    tcase_add_test(tests, others_may_hold_anything);
    tcase_add_test(tests, refused_with_what_to_do);
    tcase_add_test(tests, whole_numbers);
    return fixture_run(tests);
}
