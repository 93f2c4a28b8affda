/* Groups whose functions differ only in addresses and node numbers share one function. */
#include "engine/codegen/share.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char *printed(const char *const texts[], int count)
{
    cse_sharer *sharer = cse_sharer_new(count);
    cse_text out = { 0 };
    for (int g = 0; g < count; g++) {
        cse_text comment = { 0 }, functions = { 0 };
        cse_text_add(&comment, "/* %d */\n", g);
        if (texts[g][0] != '\0')
            cse_text_add_bytes(&functions, texts[g], strlen(texts[g]));
        cse_sharer_add_take(sharer, g, &comment, &functions);
    }
    cse_sharer_print(sharer, &out);
    cse_sharer_destroy(&sharer);
    return out.data;
}

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

#define GROUP(number, node, other, place, body)                                             \
    "static void group_" number "(const cse_step_frame *frame)\n{\n    float *const b" node \
    " = CSE_PLACE(float, CSE_AT_REPLICA, " place ");\n    " body "(b" node ", b" other      \
    ", 3);\n}\n\n"

START_TEST(equal_groups_share)
{
    const char *const texts[] = { GROUP("0", "12", "13", "64", "f"), "",
                                  GROUP("2", "40", "41", "128", "f") };
    char *text = printed(texts, 3);
    ck_assert_int_eq(occurrences(text, "CSE_PLACE("), 1);
    ck_assert_ptr_nonnull(strstr(text, "CSE_PLACE(float, CSE_AT_REPLICA, places[0])"));
    ck_assert_ptr_nonnull(
        strstr(text, "shared_group_0(const int64_t *const places, const cse_step_frame *frame)"));
    ck_assert_ptr_nonnull(strstr(text, "places_0[] = { 64 };"));
    ck_assert_ptr_nonnull(strstr(text, "places_2[] = { 128 };"));
    ck_assert_ptr_nonnull(strstr(text, "static void group_2(const cse_step_frame *frame)\n{\n"
                                       "    shared_group_0(places_2, frame);\n}\n"));
    ck_assert_int_eq(occurrences(text, "/* "), 3);
    free(text);
}
END_TEST

START_TEST(groups_that_compute_something_else_do_not)
{
    /* Another function; the same node twice instead of two; another space. */
    const char *const texts[] = { GROUP("0", "12", "13", "64", "f"),
                                  GROUP("1", "12", "13", "64", "g"),
                                  GROUP("2", "12", "12", "64", "f"),
                                  "static void group_3(const cse_step_frame *frame)\n{\n    float "
                                  "*const b12 = CSE_PLACE(float, CSE_AT_STATE, 64);\n"
                                  "    f(b12, b13, 3);\n}\n\n" };
    char *text = printed(texts, 4);
    ck_assert_int_eq(occurrences(text, "shared_"), 0);
    for (int g = 0; g < 4; g++)
        ck_assert_ptr_nonnull(strstr(text, texts[g]));
    free(text);
}
END_TEST

#define UPDATE(number, place, kernel)                                                        \
    "static inline void values_" number "(\n    const cse_step_frame *frame, float *n1)\n"   \
    "{\n    n1[0] = CSE_PLACE(const float, CSE_AT_STATE, " place ")[0] + 1e5f;\n}\n\n"       \
    "static void update_" number "(const cse_step_frame *frame, const int64_t lines[2],\n"   \
    "    const cse_step_undo *undo)\n{\n    values_" number "(frame, frame->kernels[" kernel \
    "]);\n}\n\n"

START_TEST(functions_of_a_group_call_each_other)
{
    const char *const texts[] = { UPDATE("0", "0", "7"), UPDATE("1", "192", "8") };
    char *text = printed(texts, 2);
    ck_assert_ptr_nonnull(
        strstr(text, "shared_values_0(places, frame, frame->kernels[places[1]])"));
    ck_assert_ptr_nonnull(strstr(text, "places_0[] = { 0, 7 };"));
    ck_assert_ptr_nonnull(strstr(text, "places_1[] = { 192, 8 };"));
    ck_assert_ptr_nonnull(strstr(text, "    shared_update_0(places_1, frame, lines, undo);\n"));
    /* A number with an exponent is no node. */
    ck_assert_ptr_nonnull(strstr(text, "1e5f"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share");
    TCase *all = tcase_create("all");
    tcase_add_test(all, equal_groups_share);
    tcase_add_test(all, groups_that_compute_something_else_do_not);
    tcase_add_test(all, functions_of_a_group_call_each_other);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
