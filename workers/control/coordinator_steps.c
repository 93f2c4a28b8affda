/* Steps, records and snapshots.
 *
 * Two limits keep training from getting too far ahead of the coordinator: steps are released only
 * up to the next one after which the states must stay constant (a snapshot, the end), and only a
 * bounded number ahead of the last record that was handed out. A pause, an operator's checkpoint
 * and a stop use the arena's hold, which lets the step in flight finish. */
#include "workers/control/coordinator_state.h"

static bool is_wanted(cse_coordinator *c, int64_t steps)
{
    const cse_run_callbacks *k = c->options.callbacks;
    return steps >= c->end_step || (k->wants_snapshot != NULL && k->wants_snapshot(k->self, steps));
}

/* See coordinator_state.h. wants_snapshot is called once for each number of steps, in order. */
void cse_coordinator_advance_release(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    int64_t before = c->released, most = c->closed + c->options.steps_ahead;
    if (k->holds_states != NULL && k->holds_states(k->self))
        return;
    if (c->options.most_released != NULL) {
        const int64_t bound = c->options.most_released(c->options.most_released_self);
        most = bound < most ? bound : most;
    }
    while (c->barrier < 0 && c->released < most) {
        c->released++;
        if (is_wanted(c, c->released))
            c->barrier = c->released;
    }
    if (c->released > before)
        c->arena->release(c->cluster, c->released);
}

void cse_coordinator_take_arena(cse_coordinator *c)
{
    const int64_t released = c->arena->released(c->cluster);
    if (released > c->released) {
        c->released = released;
        if (is_wanted(c, released))
            c->barrier = released;
    }
    if (c->paused)
        c->held_at = c->arena->hold(c->cluster);
}

static void drain_records(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_record record;
    while (c->state == CSE_COORDINATOR_RUNNING && c->arena->next_record(c->cluster, &record)) {
        if (record.committed_ns > c->last_commit_ns) /* else of the coordinator before */
            c->last_commit_ns = record.committed_ns;
        record.steps_done = c->arena->steps_done(c->cluster);
        cse_status status = k->on_record != NULL ? k->on_record(k->self, &record) : CSE_OK;
        c->arena->close_record(c->cluster);
        c->closed = record.step + 1;
        if (status != CSE_OK)
            cse_coordinator_fail(c, status);
    }
}

void cse_coordinator_free_records(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    int64_t kept = c->closed;
    if (k->kept_steps != NULL) {
        const int64_t told = k->kept_steps(k->self, c->arena->lacks_places(c->cluster));
        kept = (told < kept ? told : kept) - 1;
    }
    c->arena->free_records(c->cluster, kept);
}

static void look_for_stop(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_stop_request request =
        k->stop_requested != NULL ? k->stop_requested(k->self) : CSE_STOP_NONE;
    if (request == CSE_STOP_CHECKPOINT || request == CSE_STOP_NOW)
        cse_coordinator_set_phase(c, CSE_PHASE_CANCELLING, "a stop was requested");
    if (request == CSE_STOP_NOW) {
        c->stopped = true;
        cse_coordinator_fail_now(
            c,
            cse_fail(CSE_INTERRUPTED, "stopped on request in step %lld, without a checkpoint of it",
                     (long long)c->arena->steps_done(c->cluster)));
    } else if (request != CSE_STOP_NONE) {
        c->stop_wanted = true;
    }
}

/* Only of steps that ended since the last snapshot: a hold for anything else would keep the next
 * step from beginning, and the checkpoint would be due again as long as it does. */
static void look_for_due_checkpoint(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    if (!c->paused && c->closed > c->snapshot_at && k->checkpoint_due != NULL &&
        k->checkpoint_due(k->self))
        c->checkpoint_wanted = true;
}

static bool takes_snapshots(const cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    return k->takes_snapshots == NULL || k->takes_snapshots(k->self);
}

/* An operator's checkpoint waits for the first step: the initial states are saved already or follow
 * from the seed. It waits for the one that is being written as well, while training goes on. */
static bool wants_checkpoint(const cse_coordinator *c)
{
    return c->checkpoint_wanted && c->closed > c->options.first_step && takes_snapshots(c);
}

void cse_coordinator_update_hold(cse_coordinator *c)
{
    bool wanted = c->paused || wants_checkpoint(c) || c->stop_wanted;
    if (wanted && c->held_at < 0)
        c->held_at = c->arena->hold(c->cluster);
    if (!wanted && c->held_at >= 0) {
        c->held_at = -1;
        c->arena->unhold(c->cluster);
    }
}

/* The states are constant after `steps`: hands them out, lets training go on, tells of them. */
static void take_snapshot(cse_coordinator *c, int64_t steps)
{
    const cse_run_callbacks *k = c->options.callbacks;
    const cse_snapshot snapshot = { .steps_done = steps,
                                    .ending = c->stop_wanted,
                                    .requested = wants_checkpoint(c) };
    c->io->copy_states(c->io->self, steps, steps >= c->end_step || c->stop_wanted);
    c->snapshot_at = steps;
    if (steps > c->options.first_step)
        c->checkpoint_wanted = false;
    if (c->barrier == steps && steps < c->end_step)
        c->barrier = -1;
    if (!c->stop_wanted) {
        cse_coordinator_update_hold(c);
        cse_coordinator_advance_release(c);
    }
    cse_status status = k->on_snapshot != NULL ? k->on_snapshot(k->self, &snapshot) : CSE_OK;
    if (status != CSE_OK)
        cse_coordinator_fail(c, status);
}

/* Whether the states that stand are all there; else they are looked at again at the next turn. */
static bool are_whole(cse_coordinator *c, int64_t steps, bool over)
{
    bool whole = true;
    cse_status status =
        c->arena->gather != NULL ? c->arena->gather(c->cluster, steps, over, &whole) : CSE_OK;
    if (status != CSE_OK)
        cse_coordinator_fail(c, status);
    return status == CSE_OK && whole;
}

/* A paused run stands still at its last step as at any other. */
static void when_standing_still(cse_coordinator *c, int64_t steps)
{
    bool is_end = steps >= c->end_step;
    bool leaves = (is_end && !c->paused) || c->stop_wanted;
    if ((c->barrier == steps || c->checkpoint_wanted || leaves) && c->snapshot_at != steps) {
        if (!takes_snapshots(c))
            return; /* looked at again at the next turn */
        const bool takes = c->barrier == steps || wants_checkpoint(c) || leaves;
        if (takes && !are_whole(c, steps, false))
            return;
        if (takes)
            take_snapshot(c, steps);
    }
    if (steps > c->options.first_step)
        c->checkpoint_wanted = false;
    if (!leaves || c->state != CSE_COORDINATOR_RUNNING || !are_whole(c, steps, true))
        return;
    c->stopped = !is_end;
    cse_coordinator_enter_stopping(c);
}

static void tell_turn(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_status status = k->on_turn != NULL ? k->on_turn(k->self) : CSE_OK;
    if (status != CSE_OK)
        cse_coordinator_fail(c, status);
}

static void pump(cse_coordinator *c)
{
    drain_records(c);
    cse_coordinator_free_records(c);
    if (c->state == CSE_COORDINATOR_RUNNING)
        tell_turn(c);
    if (c->state == CSE_COORDINATOR_RUNNING)
        look_for_stop(c);
    if (c->state != CSE_COORDINATOR_RUNNING)
        return;
    look_for_due_checkpoint(c);
    cse_coordinator_update_hold(c);
    cse_coordinator_advance_release(c);
    int64_t done = c->arena->steps_done(c->cluster);
    if (done == c->closed && (done == c->barrier || done == c->held_at))
        when_standing_still(c, done);
    if (c->paused && c->phase == CSE_PHASE_PAUSING)
        cse_coordinator_settle_phase(c, NULL);
}

/* Ends a cancelled run whose checkpoint is not written within its time limit. */
static void watch_cancel(cse_coordinator *c)
{
    if (c->cancel_ns == 0 || c->state >= CSE_COORDINATOR_SETTLING ||
        cse_coordinator_now_ns(c) < c->cancel_ns)
        return;
    c->stopped = true;
    cse_coordinator_fail_now(
        c, cse_fail(CSE_INTERRUPTED,
                    "cancelled in step %lld, without a checkpoint of it: none was there within "
                    "the time given",
                    (long long)c->arena->steps_done(c->cluster)));
}

void cse_coordinator_on_tick_starting(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    cse_coordinator_kill_late_workers(c);
    cse_coordinator_take_findings(c);
    cse_coordinator_restart_due(c);
    look_for_stop(c);
    watch_cancel(c);
    if (c->state == CSE_COORDINATOR_STARTING && c->stop_wanted && !c->options.inherited) {
        c->stopped = true; /* no step was done: nothing to save */
        cse_coordinator_enter_stopping(c);
    }
    /* In an arena that stood already, the first workers may have ended the last step. */
    if (c->state == CSE_COORDINATOR_STARTING && c->arena->steps_done(c->cluster) >= c->end_step)
        cse_coordinator_begin_running(c);
}

void cse_coordinator_on_tick_running(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    cse_coordinator_kill_late_workers(c);
    cse_coordinator_take_findings(c);
    cse_coordinator_restart_due(c);
    if (c->state == CSE_COORDINATOR_RUNNING)
        pump(c);
    watch_cancel(c);
}

void cse_coordinator_on_tick_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    const cse_run_callbacks *k = c->options.callbacks;
    /* A second request ends the run at once. */
    if (c->stop_wanted && k->stop_requested != NULL && k->stop_requested(k->self) == CSE_STOP_NOW &&
        c->escalation < 2) {
        c->stopping_ns = cse_coordinator_now_ns(c) - 2 * c->options.leave_timeout_ns;
        c->stop_wanted = false;
    }
    cse_coordinator_escalate(c);
}

void cse_coordinator_begin_running(cse_coordinator *c)
{
    c->state = CSE_COORDINATOR_RUNNING;
    c->running_ns = c->last_commit_ns = cse_coordinator_now_ns(c);
    cse_coordinator_set_phase(c, CSE_PHASE_RUNNING, NULL);
    cse_coordinator_settle_phase(c, NULL); /* a pause may have come before */
    cse_coordinator_update_hold(c);
    cse_coordinator_advance_release(c);
}
