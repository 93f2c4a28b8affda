/* A run that failed first comes to stand after a committed step, so that its states can be saved.
 *
 * The states in the arena are those of a step, unless the step in flight has begun to change them:
 * then it is finished first, by the workers that are left. A slot without one gets one more process
 * for that. All this has a time limit: what made the run fail may prevent the step's end, too. */
#include <signal.h>

#include "workers/control/coordinator_state.h"

#define SETTLE_LIMIT_NS INT64_C(20000000000)

/* Steps that were committed before the failure was known are reported as well; the callback tells
 * them from others by the failure that it, or another part, has reported. */
static void drain_late_records(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_record record;
    while (c->arena->next_record(c->cluster, &record)) {
        record.steps_done = c->arena->steps_done(c->cluster);
        if (k->on_late_record != NULL)
            k->on_late_record(k->self, &record);
        c->arena->close_record(c->cluster);
        c->closed = record.step + 1;
    }
    cse_coordinator_free_records(c);
}

/* Whether a process is left, or was started, that can finish the step. */
static bool has_help(cse_coordinator *c)
{
    bool found = false;
    for (int s = 0; s < c->options.slot_count; s++) {
        cse_worker *w = &c->workers[s];
        if (w->state == CSE_WORKER_VACANT && !w->helps && !w->barred) {
            w->helps = true;
            cse_coordinator_start_worker(c, s);
        }
        found = found || w->state != CSE_WORKER_VACANT;
    }
    return found;
}

static bool is_hurried(const cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    return c->escalation >= 2 ||
           (k->stop_requested != NULL && k->stop_requested(k->self) == CSE_STOP_NOW);
}

/* States that cannot be gathered are given up when the time is. */
static bool are_whole(const cse_coordinator *c, int64_t steps)
{
    bool whole = true;
    return c->arena->gather == NULL ||
           (c->arena->gather(c->cluster, steps, false, &whole) == CSE_OK && whole);
}

void cse_coordinator_on_tick_settling(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    drain_late_records(c);
    cse_coordinator_take_findings(c);
    if (c->held_at < 0)
        c->held_at = c->arena->hold(c->cluster);
    int64_t done = c->arena->steps_done(c->cluster);
    const bool stands = c->held_at >= 0 && done == c->held_at && are_whole(c, done);
    const bool over = cse_coordinator_now_ns(c) - c->settling_ns >= SETTLE_LIMIT_NS;
    if (stands && c->closed < done)
        drain_late_records(c);
    if (stands)
        c->settled_at = done;
    if (stands || over || is_hurried(c) || !has_help(c))
        cse_coordinator_enter_stopping(c);
}

void cse_coordinator_on_gone_settling(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (c->workers[event->slot].state == CSE_WORKER_VACANT)
        return;
    c->io->reap(c->io->self, event->slot);
    c->workers[event->slot].state = CSE_WORKER_VACANT;
}
