/* Rows of data sets as questions: texts as the lm-evaluation-harness writes them (its
 * preprocess of HellaSwag, its templates), and rows that are none. tests/python/harness.py compares
 * log likelihoods and measures with it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run/infer/tasks/language_task.h"

static cse_status read_row(const char *task, const char *text, cse_task_item *item)
{
    json_t *row = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(row);
    *item = (cse_task_item){ .answer = 0 };
    ck_assert_ptr_nonnull(cse_language_task_named(task));
    cse_status status = cse_language_task_named(task)->read(row, item);
    json_decref(row);
    return status;
}

static void expect(const char *task, const char *row, const char *query, const char *answer)
{
    cse_task_item item;
    ck_assert_msg(read_row(task, row, &item) == CSE_OK, "%s", cse_error_message());
    ck_assert_str_eq(item.query.data, query);
    ck_assert_str_eq(item.choices[item.answer].data, answer);
    cse_task_item_clear(&item);
}

static void refuse(const char *task, const char *row, const char *part)
{
    cse_task_item item;
    ck_assert_int_eq(read_row(task, row, &item), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s", cse_error_message());
    cse_task_item_clear(&item);
}

START_TEST(hellaswag_is_cleaned)
{
    expect("hellaswag",
           "{\"activity_label\": \"the \xC3\x89"
           "cole\", \"ctx_a\": \"[title] over a and slowly. [title]\", \"ctx_b\": \"sLOWLY \xC3\x89"
           "a.\", \"endings\": [\"x\", \"[substeps] bake a  cake end\"], \"label\": \"1\"}",
           "the \xC3\x89"
           "cole:. over a and slowly.. Slowly \xC3\xA9"
           "a.",
           " bake a cake end");
    expect("hellaswag",
           "{\"activity_label\": \"a\", \"ctx_a\": \"b [open\", \"ctx_b\": \"\xC3\xBC"
           "ber\", \"endings\": [\" c \"], \"label\": 0}",
           "a: b [open \xC3\x9C"
           "ber",
           "c");
}
END_TEST

START_TEST(other_tasks_follow_their_templates)
{
    expect("piqa", "{\"goal\": \"g\", \"sol1\": \"one\", \"sol2\": \"two\", \"label\": 1}",
           "Question: g\nAnswer:", "two");
    expect("arc_easy",
           "{\"question\": \"q\", \"choices\": {\"text\": [\"x\", \"y\", \"z\"], \"label\": "
           "[\"1\", \"2\", \"3\"]}, \"answerKey\": \"3\"}",
           "Question: q\nAnswer:", "z");
    expect("lambada_openai", "{\"text\": \"one two  three\"}", "one two ", "three");
    expect("mmlu",
           "{\"question\": \" why?\\n\", \"subject\": \"some_thing\", \"choices\": [\"p\", \"q\", "
           "\"r\", \"s\"], \"answer\": 2}",
           "why?\nA. p\nB. q\nC. r\nD. s\nAnswer:", "C");
}
END_TEST

START_TEST(a_subject_is_described)
{
    cse_text text = { 0 };
    cse_task_item item = { .answer = 0 };
    cse_text_add(&item.group, "some_thing");
    cse_language_task_named("mmlu")->describe(&item, &text);
    ck_assert_str_eq(text.data, "The following are multiple choice questions (with answers) about "
                                "some thing.\n\n");
    cse_text_clear(&text);
    cse_task_item_clear(&item);
}
END_TEST

START_TEST(rows_of_other_kinds_are_refused)
{
    refuse("piqa", "{\"goal\": \"g\", \"sol1\": \"one\", \"sol2\": \"two\", \"label\": -1}",
           "label");
    refuse("piqa", "{\"goal\": 3}", "goal");
    refuse("arc_challenge",
           "{\"question\": \"q\", \"choices\": {\"text\": [\"x\"], \"label\": [\"A\"]}, "
           "\"answerKey\": \"B\"}",
           "answerKey");
    refuse("lambada_openai", "{\"text\": \"one\"}", "blank");
    refuse("mmlu", "{\"question\": \"q\", \"choices\": [\"p\"], \"answer\": 0}", "choices");
    refuse("hellaswag",
           "{\"activity_label\": \"a\", \"ctx_a\": \"b\", \"ctx_b\": \"\", \"endings\": [], "
           "\"label\": 0}",
           "endings");
    ck_assert_ptr_null(cse_language_task_named("squad"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tasks");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, hellaswag_is_cleaned);
    tcase_add_test(tests, other_tasks_follow_their_templates);
    tcase_add_test(tests, a_subject_is_described);
    tcase_add_test(tests, rows_of_other_kinds_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
