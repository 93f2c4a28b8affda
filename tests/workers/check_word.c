/* The word of a unit of work: its fields, when it may be claimed, and edge cases (terminal states
 * of older steps, the ring's first lap). */
#include <check.h>
#include <stdlib.h>

#include "workers/arena/word.h"

START_TEST(test_fields_come_back)
{
    const int64_t numbers[] = { 0, 1, 255, ((int64_t)1 << 40) - 1 };
    for (int i = 0; i < 4; i++)
        for (int state = 0; state < 3; state++) {
            uint64_t word = cse_word_make(numbers[i], (cse_word_state)state, 249, 7);
            ck_assert_int_eq(cse_word_sequence(word), numbers[i]);
            ck_assert_int_eq((int)cse_word_state_of(word), state);
            ck_assert_int_eq(cse_word_owner(word), 249);
            ck_assert(cse_word_is(word, (cse_word_state)state, numbers[i]));
            ck_assert(!cse_word_is(word, (cse_word_state)state, numbers[i] + 1));
        }
    uint64_t step = cse_step_make(123456789, CSE_STAGE_UPDATE, 250, CSE_STEP_SINGLE_PARTIAL_SUM);
    ck_assert_int_eq(cse_step_number(step), 123456789);
    ck_assert_int_eq((int)cse_step_stage(step), CSE_STAGE_UPDATE);
    ck_assert_int_eq(cse_step_replicas(step), 250);
    ck_assert_int_eq(cse_step_flags(step), CSE_STEP_SINGLE_PARTIAL_SUM);
    uint64_t progress = cse_progress_make(99, true, 65535);
    ck_assert_int_eq(cse_word_sequence(progress), 99);
    ck_assert(cse_progress_dirty(progress));
    ck_assert_int_eq(cse_progress_line(progress), 65535);
}
END_TEST

START_TEST(test_every_older_terminal_state_is_free)
{
    ck_assert(cse_word_takeable(cse_word_terminal(4, CSE_WORD_DONE), 5));
    ck_assert(cse_word_takeable(cse_word_terminal(4, CSE_WORD_SPLIT), 5));
    ck_assert(cse_word_takeable(cse_word_terminal(2, CSE_WORD_SPLIT), 5));
    ck_assert(cse_word_takeable(0, 1));
    ck_assert(!cse_word_takeable(cse_word_terminal(5, CSE_WORD_DONE), 5));
    ck_assert(!cse_word_takeable(cse_word_terminal(5, CSE_WORD_SPLIT), 5));
    ck_assert(!cse_word_takeable(cse_word_terminal(6, CSE_WORD_DONE), 5));
    ck_assert(!cse_word_takeable(cse_word_make(4, CSE_WORD_CLAIMED, 0, 0), 5));
}
END_TEST

START_TEST(test_first_lap_does_not_underflow)
{
    ck_assert_int_eq(cse_word_sequence_before(3, 8), 0);
    ck_assert_int_eq(cse_word_sequence_before(8, 8), 0);
    ck_assert_int_eq(cse_word_sequence_before(9, 8), 1);
    ck_assert_int_eq(cse_word_sequence_before(1, 1), 0);
}
END_TEST

START_TEST(test_one_claim_wins)
{
    cse_word word = { cse_word_terminal(4, CSE_WORD_DONE) };
    ck_assert(cse_word_claim(&word, 5, 1, 0));
    ck_assert(!cse_word_claim(&word, 5, 2, 0));
    ck_assert_int_eq(cse_word_owner(cse_word_load(&word)), 1);
    cse_word_publish(&word, 5, CSE_WORD_DONE);
    ck_assert(!cse_word_claim(&word, 5, 2, 0));
    ck_assert(cse_word_claim(&word, 6, 2, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("word");
    TCase *tests = tcase_create("word");
    tcase_add_test(tests, test_fields_come_back);
    tcase_add_test(tests, test_every_older_terminal_state_is_free);
    tcase_add_test(tests, test_first_lap_does_not_underflow);
    tcase_add_test(tests, test_one_claim_wins);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
