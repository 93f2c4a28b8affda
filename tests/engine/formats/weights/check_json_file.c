/* JSON of folders: whole numbers of any size, as tokenizer_config.json has them, beside those that
 * stay whole; texts of digits stay texts. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/formats/weights/json_file.h"

static cse_status read_text(const char *text, json_t **value)
{
    char path[] = "/tmp/check_json_file.XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    const cse_status status = cse_weights_read_json(path, 1 << 20, value);
    unlink(path);
    return status;
}

START_TEST(large_numbers_are_floats)
{
    json_t *value = NULL;
    ck_assert_msg(read_text("{\"a\": 1000000000000000019884624838656, \"b\": 12, "
                            "\"c\": \"\\\"100000000000000000000000\", \"d\": 1e30, "
                            "\"e\": [-99999999999999999999], \"f\": 0.10000000000000000000001, "
                            "\"g\": 999999999999999999}",
                            &value) == CSE_OK,
                  "%s", cse_error_message());
    ck_assert_double_eq_tol(json_real_value(json_object_get(value, "a")) / 1e30, 1, 1e-12);
    ck_assert_int_eq(json_integer_value(json_object_get(value, "b")), 12);
    ck_assert_str_eq(json_string_value(json_object_get(value, "c")), "\"100000000000000000000000");
    ck_assert_double_eq_tol(json_real_value(json_object_get(value, "d")) / 1e30, 1, 1e-12);
    ck_assert_double_eq_tol(json_real_value(json_array_get(json_object_get(value, "e"), 0)) / -1e20,
                            1, 1e-12);
    ck_assert_double_eq_tol(json_real_value(json_object_get(value, "f")), 0.1, 1e-12);
    ck_assert_int_eq(json_integer_value(json_object_get(value, "g")), 999999999999999999);
    json_decref(value);
}
END_TEST

START_TEST(what_is_no_json_is_told)
{
    json_t *value = NULL;
    ck_assert_int_eq(read_text("{\"a\": 1000000000000000000000000, }", &value), CSE_DATA);
    ck_assert_int_eq(read_text("[1]", &value), CSE_DATA);
    ck_assert_int_eq(read_text("", &value), CSE_DATA);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json file");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, large_numbers_are_floats);
    tcase_add_test(tests, what_is_no_json_is_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
