/* A cluster in memory for the coordinator to act on: steps, deaths and the clock are moved by the
 * test's hand. */
#ifndef CSE_TESTS_WORKERS_COORDINATOR_STAGE_H
#define CSE_TESTS_WORKERS_COORDINATOR_STAGE_H

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/log.h"
#include "workers/arena/audit.h"
#include "workers/control/coordinator.h"

enum { SLOTS = 3, MOST_SNAPSHOTS = 32, RECORDS = 4 };
#define SECOND INT64_C(1000000000)

/* What the coordinator did and what the pretended cluster is like. */
typedef struct stage {
    int64_t now_ns;
    int starts[SLOTS], reaps[SLOTS], stops_sent[SLOTS], welcomes[SLOTS], last_signal[SLOTS];
    bool alive[SLOTS];
    cse_status start_status;
    cse_status failure[SLOTS];
    int64_t released, done, recorded, freed, hold_result;
    bool lacks_places;
    bool held, stopped;

    int64_t copied;
    bool last_copied; /* no step may follow */
    int64_t seen_records, late_records;
    int64_t snapshots[MOST_SNAPSHOTS];
    int64_t snapshot_states[MOST_SNAPSHOTS];
    int snapshot_count;
    int64_t snapshot_every;
    cse_stop_request request;
    bool checkpoint_due;
    bool reads_states;      /* the initial ones */
    int64_t failing_record; /* on_record fails at this step */
    int64_t most_asked;     /* wants_snapshot is asked in order, once for each */
    char phases[1024];      /* a letter for each change: Starting, Running, pauSing, ... */
    int recoveries;
    int64_t recovery_ns; /* of the last */
    char recovered[256]; /* process and reason */
    int planned, scaled, waits_counted;
    int64_t memory_kills;
    cse_audit_finding findings[4]; /* not read yet */
    int finding_count, audits_told;
    bool suspected[SLOTS], barred[SLOTS];
} stage;

static stage s;
static cse_coordinator *coordinator;

static inline int64_t io_now_ns(void *self)
{
    (void)self;
    return s.now_ns;
}

static inline cse_status io_start(void *self, int slot, int incarnation)
{
    (void)self;
    ck_assert_int_eq(incarnation, s.starts[slot]);
    if (s.start_status != CSE_OK)
        return cse_fail(s.start_status, "no such program");
    s.starts[slot]++;
    s.alive[slot] = true;
    return CSE_OK;
}

static inline void io_signal(void *self, int slot, int number)
{
    (void)self;
    ck_assert(s.alive[slot]);
    s.last_signal[slot] = number;
    s.suspected[slot] = false;
}

static inline void io_reap(void *self, int slot)
{
    (void)self;
    ck_assert(!s.alive[slot]); /* nothing is taken over from the living */
    s.reaps[slot]++;
}

static inline cse_status io_send(void *self, int slot, const cse_message *message)
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

static inline cse_process arena_process(const cse_cluster *self, int slot)
{
    (void)self;
    return (cse_process){ .role = CSE_ROLE_REPLICA, .rank = slot };
}

static inline void arena_count_waits(cse_cluster *self)
{
    (void)self;
    s.waits_counted++;
}

static inline void arena_release(cse_cluster *self, int64_t steps)
{
    (void)self;
    ck_assert_int_gt(steps, s.released);
    ck_assert(!s.last_copied);
    s.released = steps;
}

static inline int64_t arena_hold(cse_cluster *self)
{
    (void)self;
    if (s.hold_result >= 0)
        s.held = true;
    return s.hold_result;
}

static inline void arena_unhold(cse_cluster *self)
{
    (void)self;
    s.held = false;
}

static inline int64_t arena_steps_done(const cse_cluster *self)
{
    (void)self;
    return s.done;
}

static inline bool arena_next_record(cse_cluster *self, cse_record *record)
{
    (void)self;
    if (s.recorded >= s.done)
        return false;
    *record = (cse_record){ .step = s.recorded, .committed_ns = s.now_ns };
    return true;
}

static inline void arena_close_record(cse_cluster *self)
{
    (void)self;
    s.recorded++;
}

static inline void arena_free_records(cse_cluster *self, int64_t steps)
{
    (void)self;
    ck_assert_int_le(steps, s.recorded);
    s.freed = steps > s.freed ? steps : s.freed;
}

static inline bool arena_lacks_places(const cse_cluster *self)
{
    (void)self;
    return s.lacks_places;
}

static inline int64_t arena_released(const cse_cluster *self)
{
    (void)self;
    return s.released;
}

static inline void arena_stop(cse_cluster *self)
{
    (void)self;
    s.stopped = true;
}

static inline void io_copy_states(void *self, int64_t steps, bool last)
{
    (void)self;
    ck_assert_int_eq(steps, s.done);
    s.last_copied = last;
    /* Whoever copies must have made sure that nothing changes: no step may be under way. */
    ck_assert(s.released == s.done || s.held);
    s.copied = s.done;
}

static inline cse_status arena_failure(const cse_cluster *self, int slot,
                                       char text[CSE_FAILURE_TEXT_BYTES])
{
    (void)self;
    snprintf(text, CSE_FAILURE_TEXT_BYTES, "%s", "file is truncated");
    return s.failure[slot];
}

static inline cse_status arena_plan(cse_cluster *self, int replica_count)
{
    (void)self;
    ck_assert_int_le(replica_count, 2);
    s.planned = replica_count;
    return CSE_OK;
}

static inline bool arena_next_finding(cse_cluster *self, cse_audit_finding *finding)
{
    (void)self;
    if (s.finding_count == 0)
        return false;
    memcpy(finding, &s.findings[--s.finding_count], sizeof *finding);
    return true;
}

static inline bool arena_suspects(const cse_cluster *self, int slot)
{
    (void)self;
    return s.suspected[slot];
}

static inline void arena_bar(cse_cluster *self, int slot)
{
    (void)self;
    s.barred[slot] = true;
}

static inline bool arena_is_barred(const cse_cluster *self, int slot)
{
    (void)self;
    return s.barred[slot];
}

static inline void on_phase(void *self, cse_phase phase, const char *message)
{
    (void)self;
    ck_assert_ptr_nonnull(message);
    size_t count = strlen(s.phases);
    ck_assert_uint_lt(count + 1, sizeof s.phases);
    s.phases[count] = "SRspVC"[phase];
}

static inline void on_recovery(void *self, const cse_process_recovery *recovery)
{
    (void)self;
    s.recoveries++;
    s.recovery_ns = recovery->ready_ns - recovery->lost_ns;
    snprintf(s.recovered, sizeof s.recovered, "%s %s", recovery->process, recovery->reason);
}

static inline void on_audit(void *self, const cse_audit_report *report)
{
    (void)self;
    ck_assert_str_eq(report->host, "here");
    ck_assert_ptr_nonnull(strstr(report->text, report->process));
    s.audits_told++;
}

static inline void on_scale(void *self, int num_csx)
{
    (void)self;
    s.scaled = num_csx;
}

static inline cse_status on_record(void *self, const cse_record *record)
{
    (void)self;
    ck_assert_int_eq(record->step, s.seen_records);
    s.seen_records++;
    return record->step == s.failing_record ? cse_fail(CSE_FAILED, "loss is not a number") : CSE_OK;
}

static inline cse_status on_snapshot(void *self, const cse_snapshot *snapshot)
{
    (void)self;
    ck_assert_int_lt(s.snapshot_count, MOST_SNAPSHOTS);
    s.snapshots[s.snapshot_count] = snapshot->steps_done;
    s.snapshot_states[s.snapshot_count++] = s.copied;
    return CSE_OK;
}

static inline bool wants_snapshot(void *self, int64_t steps)
{
    (void)self;
    ck_assert_int_eq(steps, s.most_asked + 1);
    s.most_asked = steps;
    return s.snapshot_every > 0 && steps % s.snapshot_every == 0;
}

static inline bool holds_states(void *self)
{
    (void)self;
    return s.reads_states;
}

static inline bool checkpoint_due(void *self)
{
    (void)self;
    return s.checkpoint_due;
}

static inline cse_stop_request stop_requested(void *self)
{
    (void)self;
    return s.request;
}

static inline int64_t io_memory_kills(void *self)
{
    (void)self;
    return s.memory_kills;
}

static inline void io_describe_memory(void *self, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "it needs 2 GiB, and memory.max allows 1");
}

static const cse_coordinator_io io = {
    .now_ns = io_now_ns,
    .start = io_start,
    .signal = io_signal,
    .reap = io_reap,
    .send = io_send,
    .copy_states = io_copy_states,
    .memory_kills = io_memory_kills,
    .describe_memory = io_describe_memory,
};

static const cse_coordinator_arena arena = {
    .release = arena_release,
    .hold = arena_hold,
    .unhold = arena_unhold,
    .steps_done = arena_steps_done,
    .next_record = arena_next_record,
    .close_record = arena_close_record,
    .free_records = arena_free_records,
    .lacks_places = arena_lacks_places,
    .released = arena_released,
    .stop = arena_stop,
    .plan = arena_plan,
    .failure = arena_failure,
    .process = arena_process,
    .count_waits = arena_count_waits,
    .next_finding = arena_next_finding,
    .suspects = arena_suspects,
    .bar = arena_bar,
    .is_barred = arena_is_barred,
};

static inline void on_late_record(void *self, const cse_record *record)
{
    (void)self;
    ck_assert_int_eq(record->step, s.seen_records + s.late_records);
    s.late_records++;
}

static const cse_run_callbacks callbacks = {
    .on_record = on_record,
    .on_late_record = on_late_record,
    .on_snapshot = on_snapshot,
    .wants_snapshot = wants_snapshot,
    .holds_states = holds_states,
    .checkpoint_due = checkpoint_due,
    .stop_requested = stop_requested,
};

static const cse_run_events events = {
    .on_phase = on_phase,
    .on_recovery = on_recovery,
    .on_audit = on_audit,
    .on_scale = on_scale,
};

static inline void drop_record(void *self, const cse_log_record *record)
{
    (void)self;
    (void)record;
}

static bool settles, inherits; /* of the coordinators made from now on */

static inline void set_up_paused(int64_t num_steps, int restarts, bool paused)
{
    cse_coordinator_destroy(&coordinator);
    memset(&s, 0, sizeof s);
    s.now_ns = 1000 * SECOND;
    s.failing_record = -1;
    s.hold_result = -1;
    cse_log_set_sink(drop_record, NULL);
    cse_coordinator_options options = {
        .io = &io,
        .arena = &arena,
        .callbacks = &callbacks,
        .events = &events,
        .welcome = { .kind = CSE_MESSAGE_WELCOME },
        .host = "here",
        .slot_count = SLOTS,
        .most_replicas = 2,
        .num_steps = num_steps,
        .settles = settles,
        .paused = paused,
        .inherited = inherits,
        .steps_ahead = RECORDS,
        .restarts = restarts,
        .join_timeout_ns = 30 * SECOND,
        .start_timeout_ns = 60 * SECOND,
        .leave_timeout_ns = 2 * SECOND,
    };
    options.welcome.welcome.artefact_directory = "/step";
    coordinator = cse_coordinator_new(&options);
}

static inline void set_up_with(int64_t num_steps, int restarts)
{
    set_up_paused(num_steps, restarts, false);
}

static inline void set_up(void)
{
    settles = inherits = false;
    set_up_with(10, 2);
}

static inline void tear_down(void)
{
    cse_coordinator_destroy(&coordinator);
}

static inline void tick(void)
{
    cse_coordinator_handle(coordinator, &(cse_coordinator_event){ .kind = CSE_EVENT_TICK });
}

static inline void begin(void)
{
    cse_coordinator_handle(coordinator, &(cse_coordinator_event){ .kind = CSE_EVENT_BEGIN });
}

static inline void say_as(int slot, int incarnation, cse_message message)
{
    cse_coordinator_handle(coordinator, &(cse_coordinator_event){ .kind = CSE_EVENT_MESSAGE,
                                                                  .slot = slot,
                                                                  .incarnation = incarnation,
                                                                  .message = &message });
}

static inline void say(int slot, cse_message_kind kind)
{
    say_as(slot, s.starts[slot] - 1, (cse_message){ .kind = kind });
}

static inline void operator_says(cse_message_kind kind)
{
    cse_message message = { .kind = kind };
    cse_coordinator_handle(
        coordinator, &(cse_coordinator_event){ .kind = CSE_EVENT_OPERATOR, .message = &message });
}

static inline void die(int slot, int code, int signal)
{
    s.alive[slot] = false;
    cse_coordinator_handle(coordinator,
                           &(cse_coordinator_event){ .kind = CSE_EVENT_GONE,
                                                     .slot = slot,
                                                     .how = { .code = code, .signal = signal } });
}

static inline void get_ready(int slot)
{
    say(slot, CSE_MESSAGE_JOIN);
    say(slot, CSE_MESSAGE_READY);
}

static inline void start_all(void)
{
    begin();
    for (int slot = 0; slot < SLOTS; slot++)
        get_ready(slot);
    ck_assert_int_eq(cse_coordinator_state_now(coordinator), CSE_COORDINATOR_RUNNING);
}

/* The cluster commits one more step, if it may. */
static inline bool commit(void)
{
    if (s.done >= s.released || s.done >= s.recorded + RECORDS ||
        (s.held && s.done >= s.hold_result))
        return false;
    s.done++;
    s.now_ns += SECOND / 1000;
    return true;
}

static inline void expect_state(cse_coordinator_state state)
{
    ck_assert_int_eq(cse_coordinator_state_now(coordinator), state);
}

static inline void all_leave(void)
{
    for (int slot = 0; slot < SLOTS; slot++)
        if (s.alive[slot])
            die(slot, 0, 0);
    expect_state(CSE_COORDINATOR_ENDED);
    for (int slot = 0; slot < SLOTS; slot++)
        ck_assert_int_eq(s.reaps[slot], s.starts[slot]);
    ck_assert(s.stopped);
}

static inline void expect_result(cse_status status, const char *part, int64_t steps, bool stopped)
{
    cse_run_result result = { 0 };
    ck_assert_int_eq(cse_coordinator_result(coordinator, &result), status);
    if (part != NULL)
        ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s", cse_error_message());
    ck_assert_int_eq(result.steps_done, steps);
    ck_assert_int_eq(result.stopped, stopped);
}

#endif
