/* The state machine as a table of handlers by state and event. */
#include "workers/control/coordinator.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/control/coordinator_state.h"

cse_coordinator *cse_coordinator_new(const cse_coordinator_options *options)
{
    assert(options->slot_count > 0 && options->num_steps > 0 && options->steps_ahead > 0);
    size_t workers_bytes = (size_t)options->slot_count * sizeof(cse_worker);
    cse_coordinator *c = cse_calloc(1, sizeof *c + workers_bytes);
    c->options = *options;
    c->io = options->io;
    c->arena = options->arena;
    c->cluster = options->cluster;
    c->paused = options->paused;
    c->end_step = options->first_step + options->num_steps;
    c->closed = c->released = options->first_step;
    c->barrier = c->held_at = c->snapshot_at = c->settled_at = -1;
    for (int s = 0; s < options->slot_count; s++)
        c->workers[s].incarnation = -1;
    cse_coordinator_watch_memory(c);
    return c;
}

void cse_coordinator_destroy(cse_coordinator **coordinator)
{
    if (*coordinator == NULL)
        return;
    free((*coordinator)->message);
    free(*coordinator);
    *coordinator = NULL;
}

static void on_failed(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (event->at_once)
        cse_coordinator_fail_now(c, event->status);
    else
        cse_coordinator_fail(c, event->status);
}

typedef void handler(cse_coordinator *c, const cse_coordinator_event *event);

/* NULL: the event is ignored in that state. */
static handler *const handlers[CSE_COORDINATOR_STATE_COUNT][CSE_EVENT_COUNT] = {
    [CSE_COORDINATOR_STARTING] = { [CSE_EVENT_BEGIN] = cse_coordinator_on_begin,
                                   [CSE_EVENT_MESSAGE] = cse_coordinator_on_message,
                                   [CSE_EVENT_OPERATOR] = cse_coordinator_on_operator,
                                   [CSE_EVENT_GONE] = cse_coordinator_on_gone,
                                   [CSE_EVENT_FROZEN] = cse_coordinator_on_frozen,
                                   [CSE_EVENT_FAILED] = on_failed,
                                   [CSE_EVENT_TICK] = cse_coordinator_on_tick_starting },
    [CSE_COORDINATOR_RUNNING] = { [CSE_EVENT_MESSAGE] = cse_coordinator_on_message,
                                  [CSE_EVENT_OPERATOR] = cse_coordinator_on_operator,
                                  [CSE_EVENT_GONE] = cse_coordinator_on_gone,
                                  [CSE_EVENT_FROZEN] = cse_coordinator_on_frozen,
                                  [CSE_EVENT_FAILED] = on_failed,
                                  [CSE_EVENT_TICK] = cse_coordinator_on_tick_running },
    [CSE_COORDINATOR_SETTLING] = { [CSE_EVENT_MESSAGE] = cse_coordinator_on_message,
                                   [CSE_EVENT_OPERATOR] = cse_coordinator_on_operator_stopping,
                                   [CSE_EVENT_GONE] = cse_coordinator_on_gone_settling,
                                   [CSE_EVENT_FROZEN] = cse_coordinator_on_frozen,
                                   [CSE_EVENT_TICK] = cse_coordinator_on_tick_settling },
    [CSE_COORDINATOR_STOPPING] = { [CSE_EVENT_MESSAGE] = cse_coordinator_on_late_message,
                                   [CSE_EVENT_OPERATOR] = cse_coordinator_on_operator_stopping,
                                   [CSE_EVENT_GONE] = cse_coordinator_on_gone_stopping,
                                   [CSE_EVENT_FROZEN] = cse_coordinator_on_frozen,
                                   [CSE_EVENT_TICK] = cse_coordinator_on_tick_stopping },
};

void cse_coordinator_handle(cse_coordinator *coordinator, const cse_coordinator_event *event)
{
    assert(event->kind >= 0 && event->kind < CSE_EVENT_COUNT);
    handler *handle = handlers[coordinator->state][event->kind];
    if (handle != NULL)
        handle(coordinator, event);
}

cse_coordinator_state cse_coordinator_state_now(const cse_coordinator *coordinator)
{
    return coordinator->state;
}

bool cse_coordinator_awaits_commit(const cse_coordinator *c)
{
    return c->stop_wanted || c->checkpoint_wanted ||
           (c->barrier >= 0 && c->barrier - c->arena->steps_done(c->cluster) <= 1);
}

int cse_coordinator_incarnation(const cse_coordinator *coordinator, int slot)
{
    const cse_worker *w = &coordinator->workers[slot];
    return w->state == CSE_WORKER_VACANT ? -1 : w->incarnation;
}

cse_status cse_coordinator_result(const cse_coordinator *c, cse_run_result *result)
{
    result->steps_done = c->status == CSE_OK ? c->closed : c->arena->steps_done(c->cluster);
    result->settled = c->status != CSE_OK && c->settled_at >= 0;
    result->stopped = c->stopped;
    result->paused = c->paused;
    result->train_seconds = (double)(c->last_commit_ns - c->running_ns) * 1e-9;
    return c->status == CSE_OK ? CSE_OK : cse_fail(c->status, "%s", c->message);
}
