/* Liveness: responding workers are kept, frozen ones are declared dead, starting ones get time. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "workers/messages/liveness.h"
#include "workers/messages/run_directory.h"

static cse_run_directory directory;
static char endpoint[200];
static cse_liveness *liveness;

/* Long enough that a busy machine does not miss three in a row. */
#define INTERVAL_NS INT64_C(100000000)
enum { MISSES = 3 };

static void set_up(void)
{
    ck_assert_int_eq(cse_run_directory_make(&directory), CSE_OK);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/liveness", directory.path);
    ck_assert_int_eq(cse_liveness_open(&(cse_liveness_options){ .endpoint = endpoint,
                                                                .slot_count = 3,
                                                                .interval_ns = INTERVAL_NS,
                                                                .misses = MISSES },
                                       &liveness),
                     CSE_OK);
}

static void tear_down(void)
{
    cse_liveness_close(&liveness);
    cse_run_directory_remove(&directory);
}

/* Polls for `duration_ns` or until a verdict. */
static int verdict_within(int64_t duration_ns)
{
    int64_t end = cse_clock_ns() + duration_ns;
    while (cse_clock_ns() < end) {
        int slot = cse_liveness_poll(liveness, cse_clock_ns());
        if (slot >= 0)
            return slot;
        cse_sleep_ns(2000000);
    }
    return -1;
}

START_TEST(who_answers_lives_and_who_starts_is_given_time)
{
    cse_respondent *respondent;
    cse_liveness_watch(liveness, 0, 0);
    cse_liveness_watch(liveness, 1, 0); /* never answers: it has not even begun */
    ck_assert_int_eq(cse_respondent_start(endpoint, 0, 0, &respondent), CSE_OK);
    ck_assert_int_eq(verdict_within(8 * INTERVAL_NS), -1);
    cse_respondent_stop(&respondent);
    ck_assert_ptr_null(respondent);
}
END_TEST

START_TEST(who_falls_silent_gets_one_verdict)
{
    cse_respondent *respondent;
    cse_liveness_watch(liveness, 2, 5);
    ck_assert_int_eq(cse_respondent_start(endpoint, 2, 5, &respondent), CSE_OK);
    ck_assert_int_eq(verdict_within(4 * INTERVAL_NS), -1);
    cse_respondent_stop(&respondent);
    int64_t before = cse_clock_ns();
    ck_assert_int_eq(verdict_within(20 * INTERVAL_NS), 2);
    ck_assert_int_ge(cse_clock_ns() - before, (MISSES - 1) * INTERVAL_NS);
    ck_assert_int_eq(verdict_within(5 * INTERVAL_NS), -1);
}
END_TEST

START_TEST(who_is_expected_and_never_answers_gets_a_verdict)
{
    cse_liveness_watch(liveness, 0, 3);
    cse_liveness_watch(liveness, 1, 3);
    cse_liveness_expect(liveness, 0, 2); /* an earlier process's */
    cse_liveness_expect(liveness, 1, 3);
    cse_liveness_expect(liveness, 99, 3);
    ck_assert_int_eq(verdict_within(20 * INTERVAL_NS), 1);
}
END_TEST

START_TEST(answers_of_an_earlier_incarnation_do_not_count)
{
    cse_respondent *old, *current;
    cse_liveness_watch(liveness, 0, 1);
    ck_assert_int_eq(cse_respondent_start(endpoint, 0, 1, &current), CSE_OK);
    ck_assert_int_eq(verdict_within(4 * INTERVAL_NS), -1);
    ck_assert_int_eq(cse_respondent_start(endpoint, 0, 0, &old), CSE_OK);
    cse_respondent_stop(&current);
    ck_assert_int_eq(verdict_within(20 * INTERVAL_NS), 0);
    cse_respondent_stop(&old);
}
END_TEST

/* Answers until it is killed. exec would be the product's way; sockets are opened after the
 * fork. */
static pid_t start_answering_process(int slot)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cse_respondent *respondent;
    if (cse_respondent_start(endpoint, slot, 0, &respondent) != CSE_OK)
        _exit(1);
    for (;;)
        pause();
}

START_TEST(a_stopped_process_is_found)
{
    cse_liveness_close(&liveness); /* no sockets of ours in the child: it connects before we bind */
    pid_t child = start_answering_process(1);
    ck_assert_int_eq(cse_liveness_open(&(cse_liveness_options){ .endpoint = endpoint,
                                                                .slot_count = 3,
                                                                .interval_ns = INTERVAL_NS,
                                                                .misses = MISSES },
                                       &liveness),
                     CSE_OK);
    cse_liveness_watch(liveness, 1, 0);
    ck_assert_int_eq(verdict_within(10 * INTERVAL_NS), -1);
    kill(child, SIGSTOP);
    ck_assert_int_eq(verdict_within(20 * INTERVAL_NS), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *tests = tcase_create("liveness");
    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, who_answers_lives_and_who_starts_is_given_time);
    tcase_add_test(tests, who_falls_silent_gets_one_verdict);
    tcase_add_test(tests, who_is_expected_and_never_answers_gets_a_verdict);
    tcase_add_test(tests, answers_of_an_earlier_incarnation_do_not_count);
    tcase_add_test(tests, a_stopped_process_is_found);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
