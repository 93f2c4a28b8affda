/* The coordinator's decisions, played through without a process: the struct it acts through is a
 * small cluster in memory whose steps, deaths and clock the test moves by hand. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/log.h"
#include "workers/coordinator.h"

enum { SLOTS = 3, MOST_SNAPSHOTS = 32, RECORDS = 4 };
#define SECOND INT64_C(1000000000)

/* What the coordinator did and what the pretended cluster is like. */
typedef struct stage {
    int64_t now_ns;
    int starts[SLOTS], burials[SLOTS], stops_sent[SLOTS], welcomes[SLOTS], last_signal[SLOTS];
    bool alive[SLOTS];
    cse_status start_status;
    cse_status failure[SLOTS];
    int64_t released, done, recorded, hold_result;
    bool held, stopped;

    int64_t copied;
    int64_t seen_records;
    int64_t snapshots[MOST_SNAPSHOTS];
    int64_t snapshot_states[MOST_SNAPSHOTS];
    int snapshot_count;
    int64_t snapshot_every;
    cse_stop_request request;
    int64_t failing_record; /* on_record fails at this step */
    int64_t most_asked;     /* wants_snapshot is asked in order, once for each */
} stage;

static stage s;
static cse_coordinator *coordinator;

static int64_t io_now_ns(void *self)
{
    (void)self;
    return s.now_ns;
}

static cse_status io_start(void *self, int slot, int incarnation)
{
    (void)self;
    ck_assert_int_eq(incarnation, s.starts[slot]);
    if (s.start_status != CSE_OK)
        return cse_fail(s.start_status, "no such program");
    s.starts[slot]++;
    s.alive[slot] = true;
    return CSE_OK;
}

static void io_signal(void *self, int slot, int number)
{
    (void)self;
    ck_assert(s.alive[slot]);
    s.last_signal[slot] = number;
}

static void io_bury(void *self, int slot)
{
    (void)self;
    ck_assert(!s.alive[slot]); /* nothing is taken over from the living */
    s.burials[slot]++;
}

static cse_status io_send(void *self, int slot, const cse_message *message)
{
    (void)self;
    if (message->kind == CSE_MESSAGE_WELCOME) {
        ck_assert_str_eq(message->welcome.artefact_directory, "/step");
        s.welcomes[slot]++;
    }
    if (message->kind == CSE_MESSAGE_STOP)
        s.stops_sent[slot]++;
    return CSE_OK;
}

static const char *io_name(void *self, int slot, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "replica %d", slot);
    return text;
}

static void io_release(void *self, int64_t steps)
{
    (void)self;
    ck_assert_int_gt(steps, s.released);
    s.released = steps;
}

static int64_t io_hold(void *self)
{
    (void)self;
    if (s.hold_result >= 0)
        s.held = true;
    return s.hold_result;
}

static void io_unhold(void *self)
{
    (void)self;
    s.held = false;
}

static int64_t io_steps_done(void *self)
{
    (void)self;
    return s.done;
}

static bool io_next_record(void *self, cse_record *record)
{
    (void)self;
    if (s.recorded >= s.done)
        return false;
    *record = (cse_record){ .step = s.recorded, .committed_ns = s.now_ns };
    return true;
}

static void io_close_record(void *self)
{
    (void)self;
    s.recorded++;
}

static void io_stop(void *self)
{
    (void)self;
    s.stopped = true;
}

static void io_copy_states(void *self)
{
    (void)self;
    /* Whoever copies must have made sure that nothing changes: no step may be under way. */
    ck_assert(s.released == s.done || s.held);
    s.copied = s.done;
}

static cse_status io_failure(void *self, int slot, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "%s", "file is truncated");
    return s.failure[slot];
}

static cse_status on_record(void *self, const cse_record *record)
{
    (void)self;
    ck_assert_int_eq(record->step, s.seen_records);
    s.seen_records++;
    return record->step == s.failing_record ? cse_fail(CSE_FAILED, "loss is not a number") : CSE_OK;
}

static cse_status on_snapshot(void *self, int64_t steps, const unsigned char *states)
{
    (void)self;
    (void)states;
    ck_assert_int_lt(s.snapshot_count, MOST_SNAPSHOTS);
    s.snapshots[s.snapshot_count] = steps;
    s.snapshot_states[s.snapshot_count++] = s.copied;
    return CSE_OK;
}

static bool wants_snapshot(void *self, int64_t steps)
{
    (void)self;
    ck_assert_int_eq(steps, s.most_asked + 1);
    s.most_asked = steps;
    return s.snapshot_every > 0 && steps % s.snapshot_every == 0;
}

static cse_stop_request stop_requested(void *self)
{
    (void)self;
    return s.request;
}

static const cse_coordinator_io io = {
    .now_ns = io_now_ns,
    .start = io_start,
    .signal = io_signal,
    .bury = io_bury,
    .send = io_send,
    .name = io_name,
    .release = io_release,
    .hold = io_hold,
    .unhold = io_unhold,
    .steps_done = io_steps_done,
    .next_record = io_next_record,
    .close_record = io_close_record,
    .stop = io_stop,
    .copy_states = io_copy_states,
    .failure = io_failure,
};

static const cse_execution_callbacks callbacks = {
    .on_record = on_record,
    .on_snapshot = on_snapshot,
    .wants_snapshot = wants_snapshot,
    .stop_requested = stop_requested,
};

static void drop_line(void *self, cse_log_level level, const char *line)
{
    (void)self;
    (void)level;
    (void)line;
}

static void set_up_with(int64_t num_steps, int restarts)
{
    cse_coordinator_destroy(&coordinator);
    memset(&s, 0, sizeof s);
    s.now_ns = 1000 * SECOND;
    s.failing_record = -1;
    s.hold_result = -1;
    cse_log_set_sink(drop_line, NULL);
    cse_coordinator_options options = {
        .io = &io,
        .callbacks = &callbacks,
        .welcome = { .kind = CSE_MESSAGE_WELCOME },
        .slot_count = SLOTS,
        .num_steps = num_steps,
        .record_count = RECORDS,
        .restarts_per_minute = restarts,
        .start_timeout_ns = 60 * SECOND,
        .leave_timeout_ns = 2 * SECOND,
    };
    options.welcome.welcome.artefact_directory = "/step";
    coordinator = cse_coordinator_new(&options);
}

static void set_up(void)
{
    set_up_with(10, 2);
}

static void tear_down(void)
{
    cse_coordinator_destroy(&coordinator);
}

static void tick(void)
{
    cse_coordinator_handle(coordinator, &(cse_event){ .kind = CSE_EVENT_TICK });
}

static void begin(void)
{
    cse_coordinator_handle(coordinator, &(cse_event){ .kind = CSE_EVENT_BEGIN });
}

static void say_as(int slot, int incarnation, cse_message message)
{
    cse_coordinator_handle(coordinator, &(cse_event){ .kind = CSE_EVENT_MESSAGE,
                                                      .slot = slot,
                                                      .incarnation = incarnation,
                                                      .message = &message });
}

static void say(int slot, cse_message_kind kind)
{
    say_as(slot, s.starts[slot] - 1, (cse_message){ .kind = kind });
}

static void operator_says(cse_message_kind kind)
{
    cse_message message = { .kind = kind };
    cse_coordinator_handle(coordinator,
                           &(cse_event){ .kind = CSE_EVENT_OPERATOR, .message = &message });
}

static void die(int slot, int code, int signal)
{
    s.alive[slot] = false;
    cse_coordinator_handle(coordinator, &(cse_event){ .kind = CSE_EVENT_GONE,
                                                      .slot = slot,
                                                      .how = { .code = code, .signal = signal } });
}

static void get_ready(int slot)
{
    say(slot, CSE_MESSAGE_JOIN);
    say(slot, CSE_MESSAGE_READY);
}

static void start_all(void)
{
    begin();
    for (int slot = 0; slot < SLOTS; slot++)
        get_ready(slot);
    ck_assert_int_eq(cse_coordinator_state_now(coordinator), CSE_COORDINATOR_RUNNING);
}

/* The cluster commits one more step, if it may. */
static bool commit(void)
{
    if (s.done >= s.released || s.done >= s.recorded + RECORDS ||
        (s.held && s.done >= s.hold_result))
        return false;
    s.done++;
    s.now_ns += SECOND / 1000;
    return true;
}

static void expect_state(cse_coordinator_state state)
{
    ck_assert_int_eq(cse_coordinator_state_now(coordinator), state);
}

static void all_leave(void)
{
    for (int slot = 0; slot < SLOTS; slot++)
        if (s.alive[slot])
            die(slot, 0, 0);
    expect_state(CSE_COORDINATOR_ENDED);
    for (int slot = 0; slot < SLOTS; slot++)
        ck_assert_int_eq(s.burials[slot], s.starts[slot]);
    ck_assert(s.stopped);
}

static void expect_result(cse_status status, const char *part, int64_t steps, bool stopped)
{
    cse_execution_result result = { 0 };
    ck_assert_int_eq(cse_coordinator_result(coordinator, &result), status);
    if (part != NULL)
        ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s", cse_error_message());
    ck_assert_int_eq(result.steps_done, steps);
    ck_assert_int_eq(result.stopped, stopped);
}

START_TEST(a_run_without_trouble)
{
    s.snapshot_every = 4;
    begin();
    get_ready(0);
    get_ready(1);
    expect_state(CSE_COORDINATOR_STARTING);
    ck_assert_int_eq(s.released, 0); /* nothing changes before all are there */
    get_ready(2);
    expect_state(CSE_COORDINATOR_RUNNING);
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

START_TEST(a_worker_that_never_joins_is_killed_and_named)
{
    begin();
    get_ready(0);
    get_ready(2);
    s.now_ns += 61 * SECOND;
    tick();
    ck_assert_int_eq(s.last_signal[1], SIGKILL);
    ck_assert_int_eq(s.last_signal[0], 0);
    die(1, -1, SIGKILL);
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

START_TEST(death_before_ready_ends_the_run)
{
    begin();
    say(1, CSE_MESSAGE_JOIN);
    die(1, 3, 0);
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

START_TEST(death_in_the_run_is_made_good_within_the_limit)
{
    start_all();
    commit();
    tick();
    die(0, -1, SIGKILL);
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.starts[0], 2);
    ck_assert_int_eq(s.burials[0], 1);
    say_as(0, 0, (cse_message){ .kind = CSE_MESSAGE_JOIN }); /* the dead one's words */
    ck_assert_int_eq(s.welcomes[0], 1);
    get_ready(0);
    ck_assert_int_eq(s.welcomes[0], 2);
    die(1, 0, 0); /* leaving in the middle is a death, too */
    ck_assert_int_eq(s.starts[1], 2);
    s.now_ns += 30 * SECOND;
    die(2, -1, SIGSEGV); /* the third within a minute; two are allowed */
    expect_state(CSE_COORDINATOR_STOPPING);
    ck_assert_int_eq(s.starts[2], 1);
    all_leave();
    expect_result(CSE_UNAVAILABLE, "replica 2 was killed by signal 11", 1, false);
}
END_TEST

START_TEST(deaths_that_are_far_apart_never_reach_the_limit)
{
    start_all();
    for (int i = 0; i < 10; i++) {
        die(0, -1, SIGKILL);
        get_ready(0);
        s.now_ns += 40 * SECOND;
    }
    expect_state(CSE_COORDINATOR_RUNNING);
    ck_assert_int_eq(s.starts[0], 11);
}
END_TEST

START_TEST(a_frozen_worker_is_killed_first_and_then_replaced)
{
    start_all();
    cse_coordinator_handle(coordinator, &(cse_event){ .kind = CSE_EVENT_FROZEN, .slot = 1 });
    ck_assert_int_eq(s.last_signal[1], SIGKILL);
    ck_assert_int_eq(s.burials[1], 0); /* not before it is gone */
    ck_assert_int_eq(s.starts[1], 1);
    die(1, -1, SIGKILL);
    ck_assert_int_eq(s.burials[1], 1);
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

int main(void)
{
    Suite *suite = suite_create("coordinator");
    TCase *tests = tcase_create("coordinator");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_run_without_trouble);
    tcase_add_test(tests, the_last_step_is_handed_out_once_even_when_wanted);
    tcase_add_test(tests, a_worker_that_cannot_be_started_ends_the_run);
    tcase_add_test(tests, a_worker_that_never_joins_is_killed_and_named);
    tcase_add_test(tests, joining_twice_is_ignored);
    tcase_add_test(tests, ready_without_join_and_strangers_do_not_count);
    tcase_add_test(tests, death_before_ready_ends_the_run);
    tcase_add_test(tests, a_failure_in_the_arena_beats_the_exit_code);
    tcase_add_test(tests, a_failure_message_ends_the_run_and_later_ones_do_not_replace_it);
    tcase_add_test(tests, a_nonsense_status_is_an_internal_error);
    tcase_add_test(tests, death_in_the_run_is_made_good_within_the_limit);
    tcase_add_test(tests, deaths_that_are_far_apart_never_reach_the_limit);
    tcase_add_test(tests, a_frozen_worker_is_killed_first_and_then_replaced);
    tcase_add_test(tests, a_clean_exit_after_the_last_step_is_no_death);
    tcase_add_test(tests, a_stop_with_checkpoint_finishes_the_step_in_flight);
    tcase_add_test(tests, a_stop_at_the_last_step_is_an_ordinary_end);
    tcase_add_test(tests, stop_now_ends_without_a_snapshot);
    tcase_add_test(tests, stop_while_starting_changes_nothing);
    tcase_add_test(tests, who_does_not_leave_is_made_to);
    tcase_add_test(tests, a_second_stop_hurries_those_that_leave);
    tcase_add_test(tests, a_failing_callback_ends_the_run_with_its_status);
    tcase_add_test(tests, pause_checkpoint_and_resume_by_an_operator);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
