/* Groups whose functions differ only in the numbers they are passed share one function, and the
 * program holds these numbers. */
#include "engine/code/codegen/share.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The C of groups with these texts, and their program. */
static char *printed(const char *const texts[], int count, cse_program *program)
{
    *program = (cse_program){ 0 };
    cse_sharer *sharer = cse_sharer_new(program, count);
    cse_text out = { 0 };
    for (int g = 0; g < count; g++) {
        cse_text functions = { 0 }, comment = { 0 };
        cse_text_add_bytes(&functions, texts[g], strlen(texts[g]));
        cse_text_add(&comment, "/* as %d */\n", g);
        if (cse_sharer_add_take(sharer, g, &functions))
            cse_sharer_comment_take(sharer, &comment);
        cse_text_clear(&functions);
        cse_text_clear(&comment);
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

/* The numbers that a group passes. */
static const int64_t *values_of(const cse_program *program, int group)
{
    return program->values + program->first_values[group];
}

#define GROUP(number, node, other, place, body)                                             \
    "static void group_" number "(const cse_step_frame *frame)\n{\n    float *const b" node \
    " = CSE_PLACE(float, CSE_AT_REPLICA, " place ", 400);\n    " body "(b" node ", b" other \
    ", 3);\n}\n\n"

START_TEST(equal_groups_share)
{
    const char *const texts[] = { GROUP("0", "12", "13", "64", "f"),
                                  GROUP("1", "40", "41", "128", "f") };
    cse_program program;
    char *text = printed(texts, 2, &program);
    ck_assert_int_eq(program.function_count, 1);
    ck_assert_int_eq(program.functions[0].entries, CSE_ENTRY_RUN);
    ck_assert_ptr_nonnull(strstr(text, "CSE_PLACE(float, CSE_AT_REPLICA, places[0], 400)"));
    ck_assert_ptr_nonnull(
        strstr(text, "group_0(const int64_t *const places, const cse_step_frame *frame)"));
    ck_assert_int_eq(occurrences(text, "/* as "), 1);
    ck_assert_ptr_nonnull(strstr(text, "{ group_0, 0, 0, 0 },"));
    ck_assert_ptr_nonnull(strstr(text, "cse_step_function_count = 1;"));
    ck_assert_int_eq(program.functions[0].count, 1);
    ck_assert_int_eq(program.parameters[0].kind, CSE_PARAMETER_PLACE);
    ck_assert_int_eq(program.parameters[0].space, CSE_SPACE_REPLICA);
    ck_assert_int_eq(program.parameters[0].bytes, 400);
    ck_assert_int_eq(values_of(&program, 0)[0], 64);
    ck_assert_int_eq(values_of(&program, 1)[0], 128);
    free(text);
    cse_program_clear(&program);
}
END_TEST

START_TEST(groups_that_compute_something_else_do_not)
{
    /* Another function; the same node twice instead of two; another space; another length. */
    const char *const texts[] = { GROUP("0", "12", "13", "64", "f"),
                                  GROUP("1", "12", "13", "64", "g"),
                                  GROUP("2", "12", "12", "64", "f"),
                                  "static void group_3(const cse_step_frame *frame)\n{\n    float "
                                  "*const b12 = CSE_PLACE(float, CSE_AT_STATE, 64, 400);\n"
                                  "    f(b12, b13, 3);\n}\n\n",
                                  "static void group_4(const cse_step_frame *frame)\n{\n    float "
                                  "*const b12 = CSE_PLACE(float, CSE_AT_REPLICA, 64, 404);\n"
                                  "    f(b12, b13, 3);\n}\n\n" };
    cse_program program;
    char *text = printed(texts, 5, &program);
    ck_assert_int_eq(program.function_count, 5);
    for (int g = 0; g < 5; g++)
        ck_assert_int_eq(program.functions_of[g], g);
    free(text);
    cse_program_clear(&program);
}
END_TEST

#define UPDATE(number, place, kernel)                                                        \
    "static inline void values_" number "(\n    const cse_step_frame *frame, float *n1)\n"   \
    "{\n    n1[0] = CSE_PLACE(const float, CSE_AT_STATE, " place ", 4)[0] + 1e5f;\n}\n\n"    \
    "static void update_" number "(const cse_step_frame *frame, const int64_t lines[2],\n"   \
    "    const cse_step_undo *undo)\n{\n    values_" number "(frame, frame->kernels[" kernel \
    "]);\n}\n\n"                                                                             \
    "static void proposed_" number "(const cse_step_frame *frame, const int64_t lines[2],\n" \
    "    float *const values[])\n{\n    values_" number "(frame, values[0]);\n}\n\n"

START_TEST(functions_of_a_group_call_each_other)
{
    const char *const texts[] = { GROUP("0", "12", "13", "64", "f"), UPDATE("1", "0", "7"),
                                  UPDATE("2", "192", "8") };
    cse_program program;
    char *text = printed(texts, 3, &program);
    ck_assert_int_eq(program.function_count, 2);
    ck_assert_int_eq(program.functions[1].entries, CSE_ENTRY_UPDATE | CSE_ENTRY_PROPOSE);
    ck_assert_ptr_nonnull(strstr(text, "values_1(places, frame, frame->kernels[places[1]])"));
    ck_assert_ptr_nonnull(strstr(text, "values_1(places, frame, values[0])"));
    ck_assert_ptr_nonnull(strstr(text, "{ 0, 0, update_1, proposed_1 },"));
    ck_assert_int_eq(program.parameters[program.functions[1].first + 1].kind, CSE_PARAMETER_KERNEL);
    ck_assert_int_eq(values_of(&program, 1)[0], 0);
    ck_assert_int_eq(values_of(&program, 1)[1], 7);
    ck_assert_int_eq(values_of(&program, 2)[0], 192);
    ck_assert_int_eq(values_of(&program, 2)[1], 8);
    /* A number with an exponent is no node. */
    ck_assert_ptr_nonnull(strstr(text, "1e5f"));
    free(text);
    cse_program_clear(&program);
}
END_TEST

#define COUNTS(number, tracked, stream)                                                         \
    "static void group_" number "(const cse_step_frame *frame)\n{\n    f(CSE_STREAM(" stream    \
    "));\n}\n\nstatic void group_" number "_statistics(const cse_step_frame *frame)\n{\n    f(" \
    "CSE_STREAM(" stream "));\n    g(CSE_TRACKED(" tracked "));\n}\n\n"

START_TEST(streams_and_tracked_tensors_are_passed)
{
    const char *const texts[] = { COUNTS("0", "5", "4000000000ll"), COUNTS("1", "6", "7") };
    cse_program program;
    char *text = printed(texts, 2, &program);
    ck_assert_int_eq(program.function_count, 1);
    ck_assert_int_eq(program.functions[0].entries, CSE_ENTRY_RUN | CSE_ENTRY_STATISTICS);
    ck_assert_ptr_nonnull(strstr(text, "{ group_0, group_0_statistics, 0, 0 },"));
    ck_assert_ptr_nonnull(strstr(text, "g(CSE_TRACKED(places[2]))"));
    ck_assert_int_eq(values_of(&program, 0)[0], 4000000000);
    ck_assert_int_eq(values_of(&program, 1)[1], 7);
    ck_assert_int_eq(values_of(&program, 0)[2], 5);
    ck_assert_int_eq(values_of(&program, 1)[2], 6);
    free(text);
    cse_program_clear(&program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share");
    TCase *all = tcase_create("all");
    tcase_add_test(all, equal_groups_share);
    tcase_add_test(all, groups_that_compute_something_else_do_not);
    tcase_add_test(all, functions_of_a_group_call_each_other);
    tcase_add_test(all, streams_and_tracked_tensors_are_passed);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
