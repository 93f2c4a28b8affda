/* What the coordinator does about processes that an audit has found wrong. */
#include <stdlib.h>

#include "tests/workers/coordinator_stage.h"

/* The process of the slot has other bits than that of the next one. */
static void find(int slot, bool undecided)
{
    cse_audit_finding *f = &s.findings[s.finding_count++];
    memset(f, 0, sizeof *f);
    f->microbatch = 3;
    f->undecided = undecided;
    f->made = (cse_audit_try){
        .digest = 5, .slot = slot, .process = 100 * s.starts[slot] + slot, .core = 7
    };
    f->other = (cse_audit_try){ .digest = 6, .slot = (slot + 1) % SLOTS, .core = -1 };
    atomic_store(&f->sequence, s.done + 1);
    s.suspected[slot] = true;
}

/* And its process is killed, when it is found. */
static void find_and_bury(int slot)
{
    find(slot, false);
    tick();
    ck_assert_int_eq(s.last_signal[slot], SIGKILL);
    s.last_signal[slot] = 0;
    die(slot, -1, SIGKILL);
}

START_TEST(who_is_wrong_leaves_and_is_not_replaced)
{
    start_all();
    commit();
    find_and_bury(1);
    ck_assert_int_eq(s.audits_told, 1);
    ck_assert(s.barred[1] && !s.barred[0] && !s.barred[2]);
    ck_assert_int_eq(s.reaps[1], 1);
    for (int i = 0; i < 5; i++) {
        s.now_ns += 60 * SECOND;
        tick();
    }
    ck_assert_int_eq(s.starts[1], 1);
    expect_state(CSE_COORDINATOR_RUNNING);
    /* What is left goes on to the end. */
    while (cse_coordinator_state_now(coordinator) == CSE_COORDINATOR_RUNNING) {
        while (commit())
            continue;
        tick();
    }
    die(0, 0, 0);
    die(2, 0, 0);
    expect_result(CSE_OK, NULL, 10, false);
}
END_TEST

START_TEST(fewer_share_a_step)
{
    start_all();
    find_and_bury(0);
    ck_assert_int_eq(s.planned, 0); /* at most two did, and two are left */
    find_and_bury(1);
    ck_assert_int_eq(s.planned, 1);
}
END_TEST

START_TEST(the_last_replica_is_replaced_once)
{
    start_all();
    find_and_bury(0);
    find_and_bury(1);
    ck_assert_int_eq(s.starts[2], 1);
    find_and_bury(2);
    ck_assert(!s.barred[2]);
    ck_assert_int_eq(s.starts[2], 2);
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
    find(2, false);
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    die(2, 0, SIGTERM);
    expect_result(CSE_UNAVAILABLE, "it is the only replica", 0, false);
}
END_TEST

START_TEST(those_of_whom_nobody_can_tell_are_replaced_once)
{
    start_all();
    find(0, true);
    find(1, true);
    tick();
    for (int slot = 0; slot < 2; slot++) {
        ck_assert_int_eq(s.last_signal[slot], SIGKILL);
        ck_assert(!s.barred[slot]);
        die(slot, -1, SIGKILL);
        ck_assert_int_eq(s.starts[slot], 2);
        get_ready(slot);
    }
    expect_state(CSE_COORDINATOR_RUNNING);
    find(0, true);
    find(1, true);
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    for (int slot = 0; slot < SLOTS; slot++)
        die(slot, 0, SIGTERM);
    expect_result(CSE_UNAVAILABLE, "new processes in their places do not agree", 0, false);
}
END_TEST

START_TEST(a_coordinator_that_takes_over_starts_nobody_there)
{
    inherits = true;
    set_up_with(10, 2);
    s.barred[1] = true;
    begin();
    ck_assert(s.starts[0] == 1 && s.starts[1] == 0 && s.starts[2] == 1);
    get_ready(0);
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coordinator_audit");
    TCase *cases = tcase_create("audit");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, who_is_wrong_leaves_and_is_not_replaced);
    tcase_add_test(cases, fewer_share_a_step);
    tcase_add_test(cases, the_last_replica_is_replaced_once);
    tcase_add_test(cases, those_of_whom_nobody_can_tell_are_replaced_once);
    tcase_add_test(cases, a_coordinator_that_takes_over_starts_nobody_there);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
