/* JSON text: what jansson reads back is what was written. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"

static json_t *read_back(const cse_text *text)
{
    json_error_t error;
    json_t *value = json_loadb(text->data, text->size, JSON_DECODE_ANY, &error);
    ck_assert_msg(value != NULL, "%s: %s", text->data, error.text);
    return value;
}

START_TEST(strings_come_back)
{
    static const char *const words[] = { "",
                                         "plain",
                                         "quote \" and \\ back",
                                         "\n\t\r\b\f\x01\x1f\x7f",
                                         "gr\xc3\xbc\xc3\x9f",
                                         "\xe2\x82\xac\xf0\x9f\x98\x80" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cse_text text = { 0 };
        cse_json_add_string(&text, words[i]);
        json_t *value = read_back(&text);
        ck_assert_str_eq(json_string_value(value), words[i]);
        json_decref(value);
        cse_text_clear(&text);
    }
}
END_TEST

/* What is not seen, or drives a terminal, is escaped, and reads back as it was. */
START_TEST(unseen_characters_are_escaped)
{
    static const char value[] = "a\xc2\x9b\x1b\xe2\x80\xaez\xf3\xa0\x80\xa1\xc3\xa9";
    cse_text text = { 0 }, again = { 0 };
    cse_json_add_string(&text, value);
    ck_assert_str_eq(text.data, "\"a\\u009b\\u001b\\u202ez\\udb40\\udc21\xc3\xa9\"");
    json_t *read = read_back(&text);
    ck_assert_str_eq(json_string_value(read), value);
    char *raw = json_dumps(read, JSON_ENCODE_ANY); /* jansson leaves them as they are */
    cse_json_add_printable(&again, raw, strlen(raw));
    ck_assert_ptr_null(strstr(again.data, "\xc2\x9b"));
    json_t *same = read_back(&again);
    ck_assert_str_eq(json_string_value(same), value);
    json_decref(read);
    json_decref(same);
    free(raw);
    cse_text_clear(&text);
    cse_text_clear(&again);
}
END_TEST

/* Invalid in RFC 3629: lone continuation, overlong, surrogate, beyond U+10FFFF, cut short. */
START_TEST(what_is_no_utf8_becomes_the_replacement_character)
{
    static const char *const words[] = { "a\x80z", "a\xc0\xafz", "a\xed\xa0\x80z",
                                         "a\xf4\x90\x80\x80z", "a\xe2\x82" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cse_text text = { 0 };
        cse_json_add_string(&text, words[i]);
        json_t *value = read_back(&text);
        ck_assert_ptr_nonnull(strstr(json_string_value(value), "\xef\xbf\xbd"));
        ck_assert_int_eq(json_string_value(value)[0], 'a');
        json_decref(value);
        cse_text_clear(&text);
    }
}
END_TEST

START_TEST(numbers_come_back_to_the_bit)
{
    static const double numbers[] = {
        0,   -0.0,   0.1,       1.0 / 3,           1e-310, 1e308, 123456789.0,
        1e5, 2.5e-7, 0x1p-1074, 9007199254740993.0
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        cse_text text = { 0 };
        cse_json_add_number(&text, numbers[i]);
        json_t *value = read_back(&text);
        double back = json_number_value(value);
        ck_assert_double_eq(back, numbers[i]);
        json_decref(value);
        cse_text_clear(&text);
    }
    cse_text text = { 0 };
    cse_json_add_number(&text, -(double)INFINITY);
    cse_json_add_number(&text, (double)NAN);
    ck_assert_str_eq(text.data, "\"-Infinity\"\"NaN\"");
    cse_text_clear(&text);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("json");
    tcase_add_test(cases, strings_come_back);
    tcase_add_test(cases, unseen_characters_are_escaped);
    tcase_add_test(cases, what_is_no_utf8_becomes_the_replacement_character);
    tcase_add_test(cases, numbers_come_back_to_the_bit);
    Suite *suite = suite_create("json");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
