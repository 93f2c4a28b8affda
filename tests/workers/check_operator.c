/* Commands to the coordinator: which are accepted, their effects, and the events that clients see.
 */
#include "tests/workers/coordinator_stage.h"

START_TEST(pause_checkpoint_and_resume_by_an_operator)
{
    start_all();
    commit();
    tick();
    operator_says(CSE_MESSAGE_PAUSE);
    s.hold_result = 2;
    tick();
    ck_assert(s.held);
    commit();
    tick();
    ck_assert_int_eq(s.snapshot_count, 0); /* a pause saves nothing */
    operator_says(CSE_MESSAGE_CHECKPOINT);
    tick();
    ck_assert_int_eq(s.snapshot_count, 1);
    ck_assert_int_eq(s.snapshots[0], 2);
    ck_assert(s.held);
    tick();
    ck_assert_int_eq(s.snapshot_count, 1);
    operator_says(CSE_MESSAGE_RESUME);
    tick();
    ck_assert(!s.held);
    operator_says(CSE_MESSAGE_CHECKPOINT);
    s.hold_result = 3;
    tick();
    commit();
    tick();
    ck_assert_int_eq(s.snapshots[1], 3);
    ck_assert(!s.held); /* goes on by itself */
    operator_says(CSE_MESSAGE_JOIN);
    operator_says(CSE_MESSAGE_STOP);
    s.hold_result = 3;
    tick();
    tick();
    all_leave();
    expect_result(CSE_OK, NULL, 3, true);
}
END_TEST

START_TEST(a_checkpoint_before_the_first_step_waits_for_it)
{
    start_all();
    operator_says(CSE_MESSAGE_CHECKPOINT);
    tick();
    tick();
    ck_assert(!s.held);
    ck_assert_int_eq(s.snapshot_count, 0);
    operator_says(CSE_MESSAGE_PAUSE); /* standing still at the beginning is no step either */
    s.hold_result = 0;
    tick();
    ck_assert(s.held);
    ck_assert_int_eq(s.snapshot_count, 0);
    operator_says(CSE_MESSAGE_RESUME);
    tick();
    ck_assert(!s.held);
    s.hold_result = 1;
    commit();
    tick();
    ck_assert_int_eq(s.snapshot_count, 1);
    ck_assert_int_eq(s.snapshots[0], 1);
    tick();
    ck_assert(!s.held);
    ck_assert_int_eq(s.snapshot_count, 1);
}
END_TEST

static cse_status ask(cse_message message)
{
    cse_operator_reply reply = { .step = -1 };
    cse_coordinator_handle(coordinator, &(cse_coordinator_event){ .kind = CSE_EVENT_OPERATOR,
                                                                  .message = &message,
                                                                  .reply = &reply });
    ck_assert_int_eq(reply.step, s.done);
    ck_assert_uint_gt(strlen(reply.text), 0);
    return reply.status;
}

START_TEST(phases_follow_what_happens)
{
    start_all();
    commit();
    tick();
    operator_says(CSE_MESSAGE_PAUSE);
    s.hold_result = 2;
    tick();
    ck_assert_str_eq(s.phases, "SRs");
    commit();
    tick();
    ck_assert_str_eq(s.phases, "SRsp");
    operator_says(CSE_MESSAGE_RESUME);
    ck_assert_str_eq(s.phases, "SRspR");
    die(1, 0, SIGKILL);
    ck_assert_str_eq(s.phases, "SRspRV");
    get_ready(1);
    ck_assert_str_eq(s.phases, "SRspRVR");
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_STATUS }), CSE_OK);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_JOIN }), CSE_USAGE);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_SCALE, .scale = { 1 } }), CSE_OK);
    ck_assert_int_eq(s.planned, 1);
    ck_assert_int_eq(s.scaled, 1);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_SCALE, .scale = { 3 } }),
                     CSE_UNAVAILABLE);
    /* This run has no hosts that could change. */
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_SCALE, .scale = { 0, "a,b" } }),
                     CSE_UNAVAILABLE);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_SCALE, .scale = { 0 } }),
                     CSE_UNAVAILABLE);
    ck_assert_int_eq(s.planned, 1);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_KILL }), CSE_OK);
    ck_assert_str_eq(s.phases, "SRspRVRC");
    for (int slot = 0; slot < SLOTS; slot++)
        ck_assert_int_eq(s.last_signal[slot], SIGKILL);
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_PAUSE }), CSE_UNAVAILABLE);
    all_leave();
    expect_result(CSE_INTERRUPTED, "killed on request", 2, true);
}
END_TEST

START_TEST(a_pause_holds_at_the_last_step)
{
    set_up_with(2, 2);
    start_all();
    commit();
    tick();
    operator_says(CSE_MESSAGE_PAUSE);
    s.hold_result = 2;
    tick();
    commit();
    tick();
    tick();
    expect_state(CSE_COORDINATOR_RUNNING); /* nothing is left to do, but it stands */
    ck_assert_str_eq(s.phases, "SRsp");
    ck_assert_int_eq(s.snapshot_count, 1);
    ck_assert_int_eq(s.snapshots[0], 2);
    operator_says(CSE_MESSAGE_RESUME);
    ck_assert_str_eq(s.phases, "SRspR");
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.snapshot_count, 1);
    all_leave();
    expect_result(CSE_OK, NULL, 2, false);
}
END_TEST

/* Its steps are done, others may follow: a pause waits for them, a cancel prevents them. */
START_TEST(a_command_after_the_last_step_is_for_what_follows)
{
    cse_run_result result = { 0 };
    for (int cancels = 0; cancels < 2; cancels++) {
        set_up_with(1, 2);
        start_all();
        commit();
        tick();
        expect_state(CSE_COORDINATOR_STOPPING);
        ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_PAUSE }), CSE_OK);
        ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_CHECKPOINT }), CSE_UNAVAILABLE);
        if (cancels)
            ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_CANCEL }), CSE_OK);
        all_leave();
        ck_assert_int_eq(cse_coordinator_result(coordinator, &result), CSE_OK);
        ck_assert(result.paused);
        ck_assert_int_eq(result.stopped, cancels);
    }
}
END_TEST

START_TEST(a_run_may_begin_paused)
{
    set_up_paused(2, 2, true);
    s.hold_result = 0;
    start_all();
    ck_assert_str_eq(s.phases, "SRs");
    ck_assert(s.held); /* before a step is released */
    tick();
    ck_assert_str_eq(s.phases, "SRsp");
    operator_says(CSE_MESSAGE_RESUME);
    tick();
    ck_assert(!s.held);
    ck_assert_str_eq(s.phases, "SRspR");
}
END_TEST

/* The arena is held already; the phases are still those of a run that comes to stand. */
START_TEST(a_paused_run_that_is_taken_over_stands_at_once)
{
    inherits = true;
    set_up_paused(2, 2, true);
    s.hold_result = 0;
    start_all();
    ck_assert_str_eq(s.phases, "SRsp");
}
END_TEST

START_TEST(a_run_that_is_to_end_is_in_no_other_phase)
{
    inherits = true;
    set_up_paused(2, 2, true);
    s.hold_result = 0;
    begin();
    operator_says(CSE_MESSAGE_STOP);
    for (int slot = 0; slot < SLOTS; slot++)
        get_ready(slot);
    tick();
    ck_assert_str_eq(s.phases, "SC");
}
END_TEST

START_TEST(a_recovery_is_reported_with_its_time)
{
    start_all();
    commit();
    tick();
    die(1, 0, SIGKILL);
    ck_assert_int_eq(s.recoveries, 0);
    s.now_ns += 3 * SECOND;
    die(1, 7, 0); /* before it was ready: the same recovery */
    s.now_ns += 2 * SECOND;
    tick();
    get_ready(1);
    ck_assert_int_eq(s.recoveries, 1);
    ck_assert_int_eq(s.recovery_ns, 5 * SECOND);
    ck_assert_str_eq(s.recovered, "replica 1 ended with exit code 7");
    operator_says(CSE_MESSAGE_PAUSE);
    s.now_ns += 120 * SECOND;
    die(0, 0, SIGKILL);
    get_ready(0);
    ck_assert_int_eq(s.recoveries, 2); /* also where no state shows it */
    ck_assert_str_eq(s.phases, "SRVRs");
}
END_TEST

START_TEST(a_cancel_has_its_grace)
{
    start_all();
    commit();
    tick();
    ck_assert_int_eq(ask((cse_message){ .kind = CSE_MESSAGE_CANCEL, .cancel = { 1, 3000, "" } }),
                     CSE_OK);
    tick(); /* no hold comes about, so the step in flight never ends */
    s.now_ns += 2 * SECOND;
    tick();
    expect_state(CSE_COORDINATOR_RUNNING);
    s.now_ns += 2 * SECOND;
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    ck_assert_int_eq(s.snapshot_count, 0);
    expect_result(CSE_INTERRUPTED, "within the time given", 1, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operator");
    TCase *tests = tcase_create("operator");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_checkpoint_before_the_first_step_waits_for_it);
    tcase_add_test(tests, pause_checkpoint_and_resume_by_an_operator);
    tcase_add_test(tests, phases_follow_what_happens);
    tcase_add_test(tests, a_cancel_has_its_grace);
    tcase_add_test(tests, a_pause_holds_at_the_last_step);
    tcase_add_test(tests, a_command_after_the_last_step_is_for_what_follows);
    tcase_add_test(tests, a_run_may_begin_paused);
    tcase_add_test(tests, a_paused_run_that_is_taken_over_stands_at_once);
    tcase_add_test(tests, a_run_that_is_to_end_is_in_no_other_phase);
    tcase_add_test(tests, a_recovery_is_reported_with_its_time);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
