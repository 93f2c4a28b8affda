/* The coordinator's decisions without processes: its callbacks act on a small cluster in memory,
 * whose steps, worker deaths and clock the test controls. */
#include "tests/workers/coordinator_stage.h"

START_TEST(a_run_without_trouble)
{
    s.snapshot_every = 4;
    begin();
    get_ready(0);
    get_ready(1);
    expect_state(CSE_COORDINATOR_STARTING);
    ck_assert_int_eq(s.released, 0); /* nothing changes before all are there */
    ck_assert_int_eq(s.waits_counted, 0);
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.waits_counted, 1); /* waits before are none of a step */
    while (cse_coordinator_state_now(coordinator) == CSE_COORDINATOR_RUNNING) {
        while (commit())
            continue;
        tick();
    }
    all_leave();
    expect_result(CSE_OK, NULL, 10, false);
    ck_assert_int_eq(s.seen_records, 10);
    ck_assert_int_eq(s.snapshot_count, 3);
    static const int64_t expected[] = { 4, 8, 10 };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(s.snapshots[i], expected[i]);
        ck_assert_int_eq(s.snapshot_states[i], expected[i]);
    }
    for (int slot = 0; slot < SLOTS; slot++)
        ck_assert_int_eq(s.welcomes[slot], 1);
}
END_TEST

START_TEST(no_step_changes_states_that_are_being_read)
{
    s.reads_states = true;
    start_all();
    for (int i = 0; i < 3; i++) {
        tick();
        ck_assert_int_eq(s.released, 0);
        ck_assert(!commit());
    }
    s.reads_states = false;
    tick();
    ck_assert_int_gt(s.released, 0);
    ck_assert(commit());
}
END_TEST

START_TEST(a_stop_does_not_wait_for_who_reads_states)
{
    s.reads_states = true;
    start_all();
    s.hold_result = 0;
    s.request = CSE_STOP_CHECKPOINT;
    tick();
    tick();
    all_leave();
    expect_result(CSE_OK, NULL, 0, true);
}
END_TEST

static int kept_records;
static cse_log_record kept;

static void keep_record(void *self, const cse_log_record *record)
{
    (void)self;
    kept_records++;
    kept = *record;
    ck_assert_str_eq(record->text, "hot");
}

START_TEST(a_log_record_is_from_the_slot_that_sent_it)
{
    start_all();
    kept_records = 0;
    cse_log_set_sink(keep_record, NULL);
    cse_message message = { .kind = CSE_MESSAGE_LOG };
    message.log.level = CSE_LOG_WARNING;
    message.log.time_ms = 12345;
    message.log.line = "hot";
    say_as(1, s.starts[1] - 1, message);
    ck_assert_int_eq(kept_records, 1);
    ck_assert_int_eq(kept.level, CSE_LOG_WARNING);
    ck_assert_int_eq(kept.process.role, CSE_ROLE_REPLICA);
    ck_assert_int_eq(kept.process.rank, 1);
    ck_assert_int_eq(kept.time_ms, 12345);
    message.log.level = 77; /* of no meaning: information */
    say_as(1, s.starts[1] - 1, message);
    ck_assert_int_eq(kept.level, CSE_LOG_INFO);
}
END_TEST

START_TEST(the_last_step_is_handed_out_once_even_when_wanted)
{
    s.snapshot_every = 5;
    start_all();
    for (int i = 0; i < 100; i++) {
        commit();
        tick();
    }
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.snapshot_count, 2);
    all_leave();
}
END_TEST

START_TEST(a_worker_that_cannot_be_started_ends_the_run)
{
    s.start_status = CSE_UNAVAILABLE;
    begin();
    expect_state(CSE_COORDINATOR_ENDED);
    expect_result(CSE_UNAVAILABLE, "replica 0 cannot be started: no such program", 0, false);
}
END_TEST

START_TEST(a_lack_of_processes_is_waited_out)
{
    s.start_status = CSE_TEMPORARY;
    begin();
    expect_state(CSE_COORDINATOR_STARTING);
    s.start_status = CSE_OK;
    s.now_ns += SECOND;
    tick();
    for (int slot = 0; slot < SLOTS; slot++) {
        ck_assert_int_eq(s.starts[slot], 1);
        get_ready(slot);
    }
    expect_state(CSE_COORDINATOR_RUNNING);
}
END_TEST

START_TEST(a_worker_that_never_joins_is_killed_and_replaced)
{
    set_up_with(10, 1);
    begin();
    get_ready(0);
    say(2, CSE_MESSAGE_JOIN);
    for (int time = 0; time < 2; time++) {
        s.now_ns += 31 * SECOND;
        tick();
        ck_assert_int_eq(s.last_signal[1], SIGKILL);
        ck_assert_int_eq(s.last_signal[0], 0);
        ck_assert_int_eq(s.last_signal[2], 0); /* it has longer to open everything */
        die(1, -1, SIGKILL);
        if (time == 0)
            say(2, CSE_MESSAGE_READY);
    }
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    expect_result(CSE_UNAVAILABLE, "replica 1 was not ready in time", 0, false);
}
END_TEST

START_TEST(joining_twice_is_ignored)
{
    begin();
    say(0, CSE_MESSAGE_JOIN);
    say(0, CSE_MESSAGE_JOIN);
    ck_assert_int_eq(s.welcomes[0], 1);
    say(0, CSE_MESSAGE_READY);
    say(0, CSE_MESSAGE_READY);
    say(0, CSE_MESSAGE_JOIN);
    get_ready(1);
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
}
END_TEST

START_TEST(ready_without_join_and_strangers_do_not_count)
{
    begin();
    say(0, CSE_MESSAGE_READY);
    say_as(1, 7, (cse_message){ .kind = CSE_MESSAGE_JOIN });
    say_as(99, 0, (cse_message){ .kind = CSE_MESSAGE_JOIN });
    say_as(-1, 0, (cse_message){ .kind = CSE_MESSAGE_JOIN });
    ck_assert_int_eq(s.welcomes[1], 0);
    get_ready(1);
    get_ready(2);
    expect_state(CSE_COORDINATOR_STARTING);
    get_ready(0);
    expect_state(CSE_COORDINATOR_RUNNING);
}
END_TEST

/* Killed between exec and JOIN, between JOIN and READY, and after READY while others start. */
START_TEST(death_before_the_run_is_made_good)
{
    begin();
    die(0, -1, SIGKILL);
    ck_assert_int_eq(s.starts[0], 2);
    say(1, CSE_MESSAGE_JOIN);
    die(1, -1, SIGSEGV);
    ck_assert_int_eq(s.starts[1], 2);
    get_ready(2);
    die(2, -1, SIGKILL);
    ck_assert_int_eq(s.starts[2], 2);
    ck_assert_str_eq(s.phases, "S");
    get_ready(0);
    get_ready(1);
    expect_state(CSE_COORDINATOR_STARTING);
    ck_assert_int_eq(s.released, 0);
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.recoveries, 3);
}
END_TEST

START_TEST(a_worker_that_never_gets_ready_ends_the_run_with_its_words)
{
    set_up_with(10, 6);
    begin();
    for (int start = 1; start <= 4; start++) { /* less than its budget: it ended itself */
        ck_assert_int_eq(s.starts[1], start);
        say(1, CSE_MESSAGE_JOIN);
        die(1, 3, 0);
        s.now_ns += SECOND;
        tick();
    }
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.last_signal[0], SIGTERM); /* had not joined: cannot be told otherwise */
    all_leave();
    expect_result(CSE_UNAVAILABLE, "replica 1 ended with exit code 3 before the run began", 0,
                  false);
}
END_TEST

START_TEST(a_failure_in_the_arena_beats_the_exit_code)
{
    begin();
    say(1, CSE_MESSAGE_JOIN);
    s.failure[1] = CSE_DATA;
    die(1, 65, 0);
    all_leave();
    expect_result(CSE_DATA, "replica 1: file is truncated", 0, false);
}
END_TEST

START_TEST(a_failure_message_ends_the_run_and_later_ones_do_not_replace_it)
{
    start_all();
    cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
    failure.failure.status = CSE_NO_INPUT;
    failure.failure.text = "no such file";
    say_as(2, 0, failure);
    failure.failure.status = CSE_IO;
    failure.failure.text = "because the other left";
    say_as(0, 0, failure);
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.stops_sent[0], 1);
    all_leave();
    expect_result(CSE_NO_INPUT, "replica 2: no such file", 0, false);
}
END_TEST

START_TEST(a_nonsense_status_is_an_internal_error)
{
    start_all();
    cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
    failure.failure.status = 0;
    failure.failure.text = "what";
    say_as(2, 0, failure);
    all_leave();
    expect_result(CSE_INTERNAL, "replica 2: what", 0, false);
}
END_TEST

START_TEST(death_in_the_run_is_made_good_within_the_budget)
{
    start_all();
    commit();
    tick();
    die(0, -1, SIGKILL);
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.starts[0], 2);
    ck_assert_int_eq(s.reaps[0], 1);
    say_as(0, 0, (cse_message){ .kind = CSE_MESSAGE_JOIN }); /* the dead one's words */
    ck_assert_int_eq(s.welcomes[0], 1);
    get_ready(0);
    ck_assert_int_eq(s.welcomes[0], 2);
    die(1, 0, 0); /* leaving in the middle is a death, too */
    ck_assert_int_eq(s.starts[1], 2);
    die(2, -1, SIGSEGV); /* another slot has a budget of its own */
    ck_assert_int_eq(s.starts[2], 2);
    get_ready(2);
    die(2, -1, SIGSEGV); /* two restarts without a step are allowed */
    s.now_ns += SECOND;
    tick();
    ck_assert_int_eq(s.starts[2], 3);
    get_ready(2);
    die(2, -1, SIGSEGV);
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    expect_result(CSE_UNAVAILABLE, "replica 2 was killed by signal 11", 1, false);
}
END_TEST

START_TEST(the_pauses_between_restarts_grow_and_are_forgiven)
{
    static const int64_t pauses_ms[] = { 0, 100, 400, 1600, 6400, 25600, 30000, 30000 };
    set_up_with(1000, 10);
    start_all();
    for (int loss = 0; loss < 8; loss++) {
        die(0, -1, SIGKILL);
        s.now_ns += pauses_ms[loss] * 1000000 - 1;
        tick();
        ck_assert_int_eq(s.starts[0], loss == 0 ? 2 : 1 + loss);
        s.now_ns += 1;
        tick();
        ck_assert_int_eq(s.starts[0], 2 + loss);
        get_ready(0);
    }
    commit();
    s.now_ns += 301 * SECOND;
    tick();
    die(0, -1, SIGKILL);
    ck_assert_int_eq(s.starts[0], 10); /* at once */
}
END_TEST

START_TEST(deaths_with_steps_between_them_never_reach_the_limit)
{
    set_up_with(1000, 2);
    start_all();
    for (int i = 0; i < 50; i++) {
        commit();
        tick();
        die(0, -1, SIGKILL);
        s.now_ns += 31 * SECOND;
        tick();
        get_ready(0);
    }
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.starts[0], 51);
}
END_TEST

/* As the kernel does: it counts, then kills. */
static void die_of_memory(int slot)
{
    s.memory_kills++;
    die(slot, -1, SIGKILL);
}

static void come_back(int slot)
{
    for (int tries = 0; !s.alive[slot] && tries < 20; tries++) {
        s.now_ns += 2 * SECOND;
        tick();
    }
    get_ready(slot);
    s.now_ns += 3 * SECOND; /* no more kills that could be this one's */
}

START_TEST(deaths_of_memory_without_a_step_end_the_run)
{
    set_up_with(1000, 100);
    start_all();
    commit();
    tick();
    for (int death = 0; death < 3; death++) {
        die_of_memory(death % SLOTS); /* the budget is that of all slots */
        expect_state(CSE_COORDINATOR_RUNNING);
        come_back(death % SLOTS);
    }
    die_of_memory(0);
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    expect_result(CSE_TEMPORARY,
                  "out of memory: the kernel has killed 4 processes of this run; it needs 2 GiB, "
                  "and memory.max allows 1; ",
                  1, false);
}
END_TEST

START_TEST(deaths_of_memory_with_steps_between_them_end_it_when_they_are_many)
{
    set_up_with(1000, 100);
    start_all();
    for (int death = 0; death < 8; death++) {
        commit();
        tick();
        die_of_memory(death % SLOTS);
        come_back(death % SLOTS);
    }
    s.now_ns += 601 * SECOND; /* of a window that is over */
    for (int death = 0; death < 8; death++) {
        commit();
        tick();
        die_of_memory(0);
        expect_state(CSE_COORDINATOR_RUNNING);
        come_back(0);
    }
    commit();
    tick();
    die_of_memory(0);
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
}
END_TEST

START_TEST(two_deaths_of_memory_at_once_and_deaths_of_others)
{
    set_up_with(1000, 100);
    start_all();
    commit();
    tick();
    s.memory_kills = 2;
    die(0, -1, SIGKILL);
    die(1, -1, SIGKILL);
    come_back(0);
    get_ready(1);
    for (int death = 0; death < 20; death++) { /* by an operator, and by faults */
        die(0, -1, death % 2 == 0 ? SIGKILL : SIGSEGV);
        come_back(0);
    }
    expect_state(CSE_COORDINATOR_RUNNING);
    die_of_memory(0);
    expect_state(CSE_COORDINATOR_RUNNING);
    come_back(0);
    die_of_memory(0);
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
}
END_TEST

START_TEST(no_pause_outlasts_the_end)
{
    start_all();
    die(0, -1, SIGKILL);
    get_ready(0);
    die(0, -1, SIGKILL); /* waits for its turn */
    s.request = CSE_STOP_NOW;
    tick();
    s.now_ns += 31 * SECOND;
    tick();
    ck_assert_int_eq(s.starts[0], 2);
    all_leave();
}
END_TEST

START_TEST(a_frozen_worker_is_killed_first_and_then_replaced)
{
    start_all();
    cse_coordinator_handle(coordinator,
                           &(cse_coordinator_event){ .kind = CSE_EVENT_FROZEN, .slot = 1 });
    ck_assert_int_eq(s.last_signal[1], SIGKILL);
    ck_assert_int_eq(s.reaps[1], 0); /* not before it is gone */
    ck_assert_int_eq(s.starts[1], 1);
    die(1, -1, SIGKILL);
    ck_assert_int_eq(s.reaps[1], 1);
    ck_assert_int_eq(s.starts[1], 2);
}
END_TEST

START_TEST(a_clean_exit_after_the_last_step_is_no_death)
{
    set_up_with(2, 0);
    start_all();
    commit();
    commit();
    die(0, 0, 0);
    expect_state(CSE_COORDINATOR_RUNNING);
    tick();
    all_leave();
    expect_result(CSE_OK, NULL, 2, false);
}
END_TEST

START_TEST(a_stop_with_checkpoint_finishes_the_step_in_flight)
{
    start_all();
    commit();
    commit();
    tick();
    s.request = CSE_STOP_CHECKPOINT;
    tick(); /* the arena is just deciding: hold gives -1 */
    ck_assert(!s.held);
    s.hold_result = 3;
    tick();
    ck_assert(s.held);
    ck_assert_int_eq(s.snapshot_count, 0);
    ck_assert(commit());
    ck_assert(!commit());
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    ck_assert_int_eq(s.snapshot_count, 1);
    ck_assert_int_eq(s.snapshots[0], 3);
    expect_result(CSE_OK, NULL, 3, true);
}
END_TEST

/* It may be due again before the next step has ended: a save may take longer than the interval. */
START_TEST(a_checkpoint_by_time_is_of_a_new_step)
{
    start_all();
    s.checkpoint_due = true;
    commit();
    s.hold_result = 1;
    tick();
    ck_assert_int_eq(s.snapshot_count, 1);
    for (int i = 0; i < 3; i++) {
        tick();
        ck_assert(!s.held); /* step 2 may begin */
    }
    ck_assert(commit());
    s.hold_result = 2;
    tick();
    ck_assert_int_eq(s.snapshot_count, 2);
    ck_assert_int_eq(s.snapshots[1], 2);
    tick();
    ck_assert(!s.held);
}
END_TEST

START_TEST(a_stop_at_the_last_step_is_an_ordinary_end)
{
    start_all();
    for (int i = 0; i < 9; i++) {
        commit();
        tick();
    }
    s.request = CSE_STOP_CHECKPOINT;
    s.hold_result = 10;
    tick();
    commit();
    tick();
    all_leave();
    ck_assert_int_eq(s.snapshot_count, 1);
    expect_result(CSE_OK, NULL, 10, false);
}
END_TEST

START_TEST(stop_now_ends_without_a_snapshot)
{
    start_all();
    commit();
    s.request = CSE_STOP_NOW;
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    tick();
    all_leave();
    ck_assert_int_eq(s.snapshot_count, 0);
    expect_result(CSE_INTERRUPTED, "stopped on request", 1, true);
}
END_TEST

START_TEST(stop_while_starting_changes_nothing)
{
    begin();
    s.request = CSE_STOP_CHECKPOINT;
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    all_leave();
    ck_assert_int_eq(s.snapshot_count, 0);
    expect_result(CSE_OK, NULL, 0, true);
}
END_TEST

START_TEST(who_does_not_leave_is_made_to)
{
    start_all();
    s.request = CSE_STOP_NOW;
    tick();
    ck_assert_int_eq(s.stops_sent[1], 1);
    ck_assert_int_eq(s.last_signal[1], 0);
    s.now_ns += 3 * SECOND;
    tick();
    ck_assert_int_eq(s.last_signal[1], SIGTERM);
    die(0, 130, 0);
    s.now_ns += 2 * SECOND;
    tick();
    ck_assert_int_eq(s.last_signal[1], SIGKILL);
    all_leave();
}
END_TEST

START_TEST(a_second_stop_hurries_those_that_leave)
{
    start_all();
    s.request = CSE_STOP_CHECKPOINT;
    s.hold_result = 0;
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    s.request = CSE_STOP_NOW;
    tick();
    ck_assert_int_eq(s.last_signal[0], SIGKILL);
    all_leave();
    expect_result(CSE_OK, NULL, 0, true);
}
END_TEST

START_TEST(a_failing_callback_ends_the_run_with_its_status)
{
    s.failing_record = 1;
    start_all();
    commit();
    commit();
    commit();
    tick();
    all_leave();
    ck_assert_int_eq(s.seen_records, 2);
    expect_result(CSE_FAILED, "loss is not a number", 3, false);
}
END_TEST

static void set_up_settling(void)
{
    settles = true;
    set_up_with(10, 1);
    start_all();
    commit();
    commit();
}

/* Expects that the run failed with the states of `steps` whole steps, or of none: -1. */
static void expect_settled(cse_status status, int64_t steps)
{
    cse_run_result result = { 0 };
    all_leave();
    ck_assert_int_eq(cse_coordinator_result(coordinator, &result), status);
    ck_assert_int_eq(result.settled, steps >= 0);
    if (steps >= 0)
        ck_assert_int_eq(result.steps_done, steps);
}

START_TEST(a_failing_run_stands_after_a_whole_step)
{
    set_up_settling();
    s.failing_record = 0;
    tick();
    expect_state(CSE_COORDINATOR_SETTLING);
    tick(); /* the arena is just deciding */
    expect_state(CSE_COORDINATOR_SETTLING);
    ck_assert_int_eq(s.late_records, 1);
    s.hold_result = 3; /* a step has begun to change the states */
    tick();
    expect_state(CSE_COORDINATOR_SETTLING);
    ck_assert(s.held);
    ck_assert(commit());
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.late_records, 2);
    expect_settled(CSE_FAILED, 3);
}
END_TEST

START_TEST(a_budget_that_is_spent_leaves_the_states_of_a_whole_step)
{
    set_up_settling();
    tick();
    for (int death = 0; death < 2; death++) {
        die(0, -1, SIGKILL);
        if (death == 0)
            get_ready(0);
    }
    expect_state(CSE_COORDINATOR_SETTLING);
    ck_assert_int_eq(s.starts[0], 2);
    s.hold_result = 3;
    tick();
    ck_assert_int_eq(s.starts[0], 3); /* one more, which ends the step */
    get_ready(0);
    ck_assert_int_eq(s.welcomes[0], 3);
    commit();
    tick();
    expect_settled(CSE_UNAVAILABLE, 3);
}
END_TEST

START_TEST(what_cannot_be_settled_ends_all_the_same)
{
    for (int way = 0; way < 3; way++) {
        set_up_settling();
        tick();
        cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
        failure.failure.status = CSE_DATA;
        failure.failure.text = "file is truncated";
        s.hold_result = 3;
        say_as(2, 0, failure);
        tick();
        expect_state(CSE_COORDINATOR_SETTLING);
        if (way == 0) { /* the step never ends */
            s.now_ns += 21 * SECOND;
            tick();
        } else if (way == 1) { /* whoever could end it dies */
            for (int time = 0; time < 2; time++) {
                for (int slot = 0; slot < SLOTS; slot++)
                    die(slot, -1, SIGSEGV);
                tick();
            }
        } else { /* nobody wants to wait */
            operator_says(CSE_MESSAGE_KILL);
            ck_assert_int_eq(s.last_signal[0], SIGKILL);
            tick();
        }
        expect_state(way == 1 ? CSE_COORDINATOR_ENDED : CSE_COORDINATOR_STOPPING);
        expect_settled(CSE_DATA, -1);
    }
}
END_TEST

START_TEST(who_ends_a_run_now_gets_no_states)
{
    set_up_settling();
    tick();
    s.request = CSE_STOP_NOW;
    tick();
    expect_state(CSE_COORDINATOR_STOPPING);
    expect_settled(CSE_INTERRUPTED, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coordinator");
    TCase *tests = tcase_create("coordinator");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_run_without_trouble);
    tcase_add_test(tests, no_step_changes_states_that_are_being_read);
    tcase_add_test(tests, a_stop_does_not_wait_for_who_reads_states);
    tcase_add_test(tests, a_log_record_is_from_the_slot_that_sent_it);
    tcase_add_test(tests, the_last_step_is_handed_out_once_even_when_wanted);
    tcase_add_test(tests, a_worker_that_cannot_be_started_ends_the_run);
    tcase_add_test(tests, a_worker_that_never_joins_is_killed_and_replaced);
    tcase_add_test(tests, joining_twice_is_ignored);
    tcase_add_test(tests, ready_without_join_and_strangers_do_not_count);
    tcase_add_test(tests, death_before_the_run_is_made_good);
    tcase_add_test(tests, a_worker_that_never_gets_ready_ends_the_run_with_its_words);
    tcase_add_test(tests, a_lack_of_processes_is_waited_out);
    tcase_add_test(tests, a_failure_in_the_arena_beats_the_exit_code);
    tcase_add_test(tests, a_failure_message_ends_the_run_and_later_ones_do_not_replace_it);
    tcase_add_test(tests, a_nonsense_status_is_an_internal_error);
    tcase_add_test(tests, death_in_the_run_is_made_good_within_the_budget);
    tcase_add_test(tests, the_pauses_between_restarts_grow_and_are_forgiven);
    tcase_add_test(tests, deaths_with_steps_between_them_never_reach_the_limit);
    tcase_add_test(tests, deaths_of_memory_without_a_step_end_the_run);
    tcase_add_test(tests, deaths_of_memory_with_steps_between_them_end_it_when_they_are_many);
    tcase_add_test(tests, two_deaths_of_memory_at_once_and_deaths_of_others);
    tcase_add_test(tests, no_pause_outlasts_the_end);
    tcase_add_test(tests, a_frozen_worker_is_killed_first_and_then_replaced);
    tcase_add_test(tests, a_clean_exit_after_the_last_step_is_no_death);
    tcase_add_test(tests, a_stop_with_checkpoint_finishes_the_step_in_flight);
    tcase_add_test(tests, a_checkpoint_by_time_is_of_a_new_step);
    tcase_add_test(tests, a_stop_at_the_last_step_is_an_ordinary_end);
    tcase_add_test(tests, stop_now_ends_without_a_snapshot);
    tcase_add_test(tests, stop_while_starting_changes_nothing);
    tcase_add_test(tests, who_does_not_leave_is_made_to);
    tcase_add_test(tests, a_second_stop_hurries_those_that_leave);
    tcase_add_test(tests, a_failing_callback_ends_the_run_with_its_status);
    tcase_add_test(tests, a_failing_run_stands_after_a_whole_step);
    tcase_add_test(tests, a_budget_that_is_spent_leaves_the_states_of_a_whole_step);
    tcase_add_test(tests, what_cannot_be_settled_ends_all_the_same);
    tcase_add_test(tests, who_ends_a_run_now_gets_no_states);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
