/* The coordinator: the loop of workers/control/execution.c around the real state machine. Before
 * and after each thing that it does to the cluster it can be interrupted, and killed. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/simulation/store_process.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/inherit.h"
#include "workers/arena/layout.h"

#define MILLISECONDS INT64_C(1000000)
#define SILENCE_NS (10000 * MILLISECONDS)
#define LOOK_INTERVAL_NS (10 * MILLISECONDS)

static void point(world *w)
{
    world_point(&w->control);
}

/* ---- coordinator_io.h ---- */

static int64_t io_now_ns(void *self)
{
    return ((world *)self)->now_ns;
}

static cse_status io_start(void *self, int slot, int incarnation)
{
    world *w = self;
    point(w);
    if (w->scenario.kills && !world_is_quiet(w) && world_chance(w, 60)) {
        world_note_fault(w);
        return cse_fail(CSE_TEMPORARY, "no more processes");
    }
    process_start(w, slot, incarnation);
    cse_cluster_attach(w->cluster, slot, 1000 + slot);
    return CSE_OK;
}

static void io_signal(void *self, int slot, int number)
{
    world *w = self;
    process *p = &w->processes[slot];
    point(w);
    if (p->fiber == NULL)
        world_fault(w, "slot %d gets signal %d and has no process", slot, number);
    if (number == SIGKILL)
        process_end(p, (cse_exit){ .code = -1, .signal = SIGKILL });
    else
        p->terminated = true;
}

static void io_reap(void *self, int slot)
{
    world *w = self;
    process *p = &w->processes[slot];
    if (p->fiber == NULL || !p->ended)
        world_fault(w, "slot %d is reaped and its process lives", slot);
    point(w);
    cse_cluster_recover(w->cluster, slot);
    point(w);
    /* The undo memory of the next process holds nothing of use until it has written it. */
    memset(cse_arena_undo(w->cluster, slot, 0), 0xff, 2 * CSE_UNDO_LINE_BYTES);
    process_forget(p);
}

static cse_status io_send(void *self, int slot, const cse_message *message)
{
    world *w = self;
    process *p = &w->processes[slot];
    cse_text bytes = { 0 };
    letter sent = { .slot = -1 };
    point(w);
    if (cse_message_encode(message, &bytes) != CSE_OK || bytes.size > sizeof sent.bytes)
        world_fault(w, "the coordinator's message has %zu bytes", bytes.size);
    sent.size = bytes.size;
    memcpy(sent.bytes, bytes.data, bytes.size);
    cse_text_clear(&bytes);
    if (p->fiber != NULL && !p->ended)
        world_send(w, &p->inbox, sent);
    return CSE_OK;
}

static void io_copy_states(void *self, int64_t steps, bool last)
{
    world *w = self;
    const unsigned char *states = cse_cluster_states_view(w->cluster);
    if (!world_states_are(w, states, steps))
        world_fault(w, "the states handed out after %lld steps are not those", (long long)steps);
    memcpy(w->copied, states, w->state_bytes);
    point(w); /* a process that could change them would do so here */
    if (memcmp(w->copied, states, w->state_bytes) != 0)
        world_fault(w, "the states change while they are handed out, after %lld steps",
                    (long long)steps);
    w->copied_steps = steps;
    w->last_copied = last;
}

static const cse_coordinator_io io_functions = {
    .now_ns = io_now_ns,
    .start = io_start,
    .signal = io_signal,
    .reap = io_reap,
    .send = io_send,
    .copy_states = io_copy_states,
};

/* ---- the arena ---- */

static world *acting; /* whose coordinator runs; the arena's functions know only the cluster */

static void release(cse_cluster *cluster, int64_t steps)
{
    point(acting);
    if (acting->last_copied)
        world_fault(acting, "steps are released after the last states were handed out");
    cse_cluster_release(cluster, steps);
    point(acting);
}

static int64_t hold(cse_cluster *cluster)
{
    point(acting);
    const int64_t steps = cse_cluster_hold(cluster);
    point(acting);
    return steps;
}

static void unhold(cse_cluster *cluster)
{
    point(acting);
    cse_cluster_unhold(cluster);
    point(acting);
}

static int64_t steps_done(const cse_cluster *cluster)
{
    return cse_cluster_steps_done(cluster);
}

static bool next_record(cse_cluster *cluster, cse_record *record)
{
    return cse_cluster_next_record(cluster, record);
}

static void close_record(cse_cluster *cluster)
{
    point(acting);
    cse_cluster_close_record(cluster);
}

static void free_records(cse_cluster *cluster, int64_t steps)
{
    if (acting->scenario.keeps_arena && steps > acting->kept_records)
        world_fault(acting, "%lld records are freed, and %lld are kept", (long long)steps,
                    (long long)acting->kept_records);
    acting->freed_records = steps;
    cse_cluster_free_records(cluster, steps);
}

static void stop(cse_cluster *cluster)
{
    acting->stopping_ns = acting->now_ns;
    point(acting);
    cse_cluster_stop(cluster);
    point(acting);
}

static cse_status plan(cse_cluster *cluster, int replicas)
{
    point(acting);
    return cse_cluster_plan(cluster, replicas);
}

static const cse_coordinator_arena arena_functions = {
    .release = release,
    .hold = hold,
    .unhold = unhold,
    .steps_done = steps_done,
    .next_record = next_record,
    .close_record = close_record,
    .free_records = free_records,
    .lacks_places = cse_cluster_lacks_places,
    .released = cse_cluster_released,
    .stop = stop,
    .plan = plan,
    .failure = cse_cluster_failure,
    .process = cse_cluster_slot_process,
    .count_waits = cse_cluster_count_waits,
};

/* ---- callbacks and events ---- */

static void check_record(world *w, const cse_record *record)
{
    if (record->step != w->told_records)
        world_fault(w, "the record of step %lld is told where that of %lld is due",
                    (long long)record->step, (long long)w->told_records);
    if (memcmp(record->fetched, w->fetched[record->step], sizeof w->fetched[0]) != 0)
        world_fault(w, "the values of step %lld are others", (long long)record->step);
    w->told_records++;
    if (w->told_records > w->told_ever)
        w->told_ever = w->told_records;
    w->counts->records++;
    store_record(w, record);
}

static cse_status on_record(void *self, const cse_record *record)
{
    world *w = self;
    check_record(w, record);
    w->takeover_observer.on_step(w->takeover_observer.self, record);
    point(w);
    return CSE_OK;
}

/* The run store writes now and then, and soon where it is asked to. */
static int64_t kept_steps(void *self, bool hurry)
{
    world *w = self;
    const int64_t kept = store_kept(w, w->told_records, hurry);
    if (kept >= 0)
        w->kept_records = kept > w->kept_records ? kept : w->kept_records;
    else if (hurry || (uint64_t)w->turns * UINT64_C(0x9E3779B97F4A7C15) >> 61 == 0)
        w->kept_records = w->told_records;
    return w->kept_records;
}

static void on_late_record(void *self, const cse_record *record)
{
    check_record(self, record);
}

/* The file of a checkpoint stands, and is told of. */
static void publish(world *w, int64_t steps, const unsigned char *states)
{
    unsigned char **file = &w->saved[steps];
    if (*file == NULL)
        *file = cse_aligned_calloc(w->state_bytes);
    memcpy(*file, states, w->state_bytes);
    w->counts->snapshots++;
    point(w);
    char name[32];
    snprintf(name, sizeof name, "%lld", (long long)steps);
    cse_takeover_note_checkpoint(w->takeover, name);
    w->newest = steps;
    store_saved(w, steps);
    world_tell(w, "checkpoint of step %s", name);
}

/* The last one is written by the coordinator, in three parts: before, with a part of the file, and
 * whole; others, where the scenario says so, by a process beside it. */
static cse_status on_snapshot(void *self, const cse_snapshot *snapshot)
{
    world *w = self;
    if (snapshot->steps_done != w->copied_steps)
        world_fault(w, "a snapshot of %lld steps, but the states of %lld were handed out",
                    (long long)snapshot->steps_done, (long long)w->copied_steps);
    store_saving(w);
    if (w->written_steps >= 0)
        world_fault(w, "a snapshot of %lld steps while that of %lld is written",
                    (long long)snapshot->steps_done, (long long)w->written_steps);
    if (w->scenario.writes_beside && !w->last_copied) {
        memcpy(w->written, w->copied, w->state_bytes);
        w->written_steps = snapshot->steps_done;
        w->writer_ends_ns = w->now_ns + w->scenario.save_ns;
        w->saved_ns = w->now_ns;
        return CSE_OK;
    }
    for (int part = 0; part < 2; part++)
        world_stop(&w->control, (sleep_until){ .ns = w->now_ns + w->scenario.save_ns / 2 });
    w->saved_ns = w->now_ns;
    publish(w, snapshot->steps_done, w->copied);
    return CSE_OK;
}

static bool takes_snapshots(void *self)
{
    return ((const world *)self)->written_steps < 0;
}

/* Looks at the process that writes: it has done so, or it has died and begins again. */
static cse_status on_turn(void *self)
{
    world *w = self;
    if (w->written_steps < 0 || w->now_ns < w->writer_ends_ns)
        return CSE_OK;
    if (w->scenario.kills && !world_is_quiet(w) && world_chance(w, 4)) {
        w->writer_ends_ns = w->now_ns + w->scenario.save_ns;
        return CSE_OK;
    }
    const int64_t steps = w->written_steps;
    w->written_steps = -1;
    publish(w, steps, w->written);
    return CSE_OK;
}

static bool wants_snapshot(void *self, int64_t steps)
{
    const world *w = self;
    return w->scenario.snapshot_every > 0 && steps % w->scenario.snapshot_every == 0;
}

static bool checkpoint_due(void *self)
{
    const world *w = self;
    return w->scenario.snapshot_interval_ns > 0 &&
           w->now_ns - w->saved_ns >= w->scenario.snapshot_interval_ns;
}

static cse_stop_request stop_requested(void *self)
{
    return ((const world *)self)->request;
}

static void check_ready(world *w)
{
    for (int s = 0; s < w->slot_count; s++)
        if (w->processes[s].fiber != NULL && !w->processes[s].ready)
            world_fault(w, "the run is told to run, and process %d is not ready", s);
}

static void on_phase(void *self, cse_phase phase, const char *message)
{
    world *w = self;
    w->phase = phase;
    w->phase_ns = w->now_ns;
    if (phase == CSE_PHASE_RUNNING && cse_cluster_steps_done(w->cluster) < w->end_step)
        check_ready(w);
    w->paused_at = phase == CSE_PHASE_PAUSED ? cse_cluster_steps_done(w->cluster) : -1;
    store_phase(w, phase);
    w->takeover_observer.events.on_phase(w->takeover_observer.events.self, phase, message);
    world_tell(w, "phase %d: %s", (int)phase, message);
}

/* ---- the loop ---- */

static void handle(world *w, cse_coordinator_event event)
{
    cse_coordinator_handle(w->coordinator, &event);
}

static void take_messages(world *w)
{
    letter taken;
    while (world_receive(w, &w->control.inbox, &taken)) {
        cse_message message;
        cse_operator_reply reply = { .status = CSE_OK };
        if (cse_message_decode(taken.bytes, taken.size, &message) != CSE_OK)
            world_fault(w, "a message to the coordinator cannot be read");
        cse_coordinator_event event = { .kind = CSE_EVENT_OPERATOR,
                                        .message = &message,
                                        .reply = &reply };
        if (taken.slot >= 0) {
            event.kind = CSE_EVENT_MESSAGE;
            event.slot = taken.slot;
            event.incarnation = taken.incarnation;
        }
        handle(w, event);
        point(w);
    }
}

static void take_deaths(world *w)
{
    for (int s = 0; s < w->slot_count; s++) {
        process *p = &w->processes[s];
        if (p->fiber == NULL || !p->ended)
            continue;
        take_messages(w);
        handle(w, (cse_coordinator_event){ .kind = CSE_EVENT_GONE, .slot = s, .how = p->how });
    }
}

static void take_silence(world *w)
{
    for (int s = 0; s < w->slot_count; s++) {
        const process *p = &w->processes[s];
        if (p->fiber != NULL && !p->ended && p->joined && p->frozen_ns != 0 &&
            w->now_ns - p->frozen_ns >= SILENCE_NS)
            handle(w, (cse_coordinator_event){ .kind = CSE_EVENT_FROZEN, .slot = s });
    }
}

static void look(world *w)
{
    w->looked_ns = w->now_ns;
    take_messages(w);
    take_deaths(w);
    take_silence(w);
}

/* What a run does within a time, where nobody is killed or frozen. */
static void check_times(world *w)
{
    const int64_t phase_ns = w->now_ns - w->phase_ns;
    if (!w->scenario.kills && w->phase == CSE_PHASE_PAUSING && phase_ns > 2000 * MILLISECONDS)
        world_fault(w, "a pause was asked for and the run does not come to stand");
    if (w->stopping_ns != 0 && w->now_ns - w->stopping_ns > 6000 * MILLISECONDS)
        world_fault(w, "its workers were told to leave 6 s ago");
}

static void check_pause(world *w)
{
    if (w->paused_at >= 0 && cse_cluster_steps_done(w->cluster) != w->paused_at)
        world_fault(w, "a paused run went on from step %lld to %lld", (long long)w->paused_at,
                    (long long)cse_cluster_steps_done(w->cluster));
}

/* It can be killed here as well, and the next one begins again. */
static void settle(world *w)
{
    cse_cluster_settle(w->cluster);
    point(w);
    for (int s = 0; s < w->slot_count; s++)
        memset(cse_arena_undo(w->cluster, s, 0), 0xff, 2 * CSE_UNDO_LINE_BYTES);
}

static void body(void *self)
{
    world *w = self;
    store_begin(w);
    if (w->inherited)
        settle(w);
    handle(w, (cse_coordinator_event){ .kind = CSE_EVENT_BEGIN });
    for (;;) {
        check_pause(w);
        check_times(w);
        handle(w, (cse_coordinator_event){ .kind = CSE_EVENT_TICK });
        const cse_coordinator_state state = cse_coordinator_state_now(w->coordinator);
        if (state == CSE_COORDINATOR_ENDED)
            break;
        const uint32_t seen = atomic_load(w->cluster->doorbell);
        const bool runs = state == CSE_COORDINATOR_RUNNING;
        const int64_t wait_ns = runs ? 5 * MILLISECONDS : LOOK_INTERVAL_NS;
        world_stop(&w->control, (sleep_until){ .ns = w->now_ns + wait_ns,
                                               .doorbell = runs,
                                               .message = !runs,
                                               .seen = seen });
        if (!runs || w->now_ns - w->looked_ns >= LOOK_INTERVAL_NS)
            look(w);
    }
    if (w->written_steps >= 0)
        publish(w, w->written_steps, w->written);
    w->written_steps = -1;
    w->over = true;
}

void coordinator_process_start(world *w)
{
    static cse_coordinator_io io;
    static cse_run_callbacks callbacks;
    static cse_run_events events;
    acting = w;
    io = io_functions;
    io.self = w;
    callbacks = (cse_run_callbacks){ .self = w,
                                     .on_record = on_record,
                                     .kept_steps = w->scenario.keeps_arena ? kept_steps : NULL,
                                     .on_late_record = on_late_record,
                                     .on_snapshot = on_snapshot,
                                     .wants_snapshot = wants_snapshot,
                                     .takes_snapshots = takes_snapshots,
                                     .on_turn = on_turn,
                                     .checkpoint_due = checkpoint_due,
                                     .stop_requested = stop_requested };
    events = (cse_run_events){ .self = w, .on_phase = on_phase };
    cse_coordinator_options options = {
        .io = &io,
        .arena = &arena_functions,
        .cluster = w->cluster,
        .callbacks = &callbacks,
        .events = &events,
        .welcome = { .kind = CSE_MESSAGE_WELCOME },
        .slot_count = w->slot_count,
        .most_replicas = w->scenario.replicas,
        .first_step = w->first_step,
        .num_steps = w->end_step - w->first_step,
        .settles = true,
        .paused = w->paused,
        .inherited = w->inherited,
        .steps_ahead = w->scenario.records,
        .restarts = 6,
        .join_timeout_ns = 30000 * MILLISECONDS,
        .start_timeout_ns = 120000 * MILLISECONDS,
        .leave_timeout_ns = 2000 * MILLISECONDS,
    };
    options.welcome.welcome.artefact_directory = "/step";
    options.welcome.welcome.dataloader = "";
    w->coordinator = cse_coordinator_new(&options);
    w->control = (process){ .world = w, .slot = -1, .weight = 2 };
    w->control.fiber = fiber_new(body, w);
}
