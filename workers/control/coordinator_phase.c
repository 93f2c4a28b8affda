/* Phases, as they are reported, and the end of a run.
 *
 * The first failure decides the status of the run; later ones (such as those of workers that are
 * told to exit) are consequences of it. */
#include <signal.h>

#include "engine/base/arena.h"
#include "workers/control/coordinator_state.h"

const char *cse_coordinator_name_of(const cse_coordinator *c, int slot,
                                    char text[CSE_PROCESS_NAME_BYTES])
{
    return cse_process_name(c->arena->process(c->cluster, slot), text, CSE_PROCESS_NAME_BYTES);
}

int64_t cse_coordinator_now_ns(const cse_coordinator *c)
{
    return c->io->now_ns(c->io->self);
}

/* A run that is to end is in no other phase any more, whatever its workers do meanwhile. */
void cse_coordinator_set_phase(cse_coordinator *c, cse_phase phase, const char *message)
{
    if (c->phase_told && (c->phase == phase || c->phase == CSE_PHASE_CANCELLING))
        return;
    c->phase = phase;
    c->phase_told = true;
    if (phase == CSE_PHASE_RUNNING)
        c->arena->count_waits(c->cluster);
    CSE_RUN_EVENT(c->options.events, on_phase, phase, message != NULL ? message : "");
}

bool cse_coordinator_all_ready(const cse_coordinator *c)
{
    for (int s = 0; s < c->options.slot_count; s++)
        if (c->workers[s].state != CSE_WORKER_READY && !c->workers[s].barred)
            return false;
    return true;
}

void cse_coordinator_settle_phase(cse_coordinator *c, const char *message)
{
    if (c->state != CSE_COORDINATOR_RUNNING || c->stop_wanted)
        return;
    int64_t done = c->arena->steps_done(c->cluster);
    const bool stands = done == c->closed && done == c->held_at;
    /* One that goes on in an arena that is held stands at once. */
    if (c->paused && (!stands || c->phase == CSE_PHASE_RUNNING))
        cse_coordinator_set_phase(c, CSE_PHASE_PAUSING, message);
    if (c->paused && stands)
        cse_coordinator_set_phase(c, CSE_PHASE_PAUSED, message);
    else if (!c->paused)
        cse_coordinator_set_phase(c,
                                  done >= c->end_step || cse_coordinator_all_ready(c)
                                      ? CSE_PHASE_RUNNING
                                      : CSE_PHASE_RECOVERING,
                                  message);
}

void cse_coordinator_end_when_all_gone(cse_coordinator *c)
{
    for (int s = 0; s < c->options.slot_count; s++)
        if (c->workers[s].state != CSE_WORKER_VACANT)
            return;
    c->state = CSE_COORDINATOR_ENDED;
}

void cse_coordinator_tell_to_leave(cse_coordinator *c, int slot)
{
    cse_message stop = { .kind = CSE_MESSAGE_STOP };
    stop.stop.reason = c->status == CSE_OK ? "the run is over" : "the run failed";
    /* A worker that gets no message reads it in the arena, or gets a signal later. */
    c->io->send(c->io->self, slot, &stop);
}

void cse_coordinator_enter_stopping(cse_coordinator *c)
{
    c->state = CSE_COORDINATOR_STOPPING;
    c->stopping_ns = cse_coordinator_now_ns(c);
    c->arena->stop(c->cluster);
    for (int s = 0; s < c->options.slot_count; s++) {
        if (c->workers[s].state == CSE_WORKER_JOINED || c->workers[s].state == CSE_WORKER_READY)
            cse_coordinator_tell_to_leave(c, s);
        else if (c->workers[s].state == CSE_WORKER_STARTED)
            c->io->signal(c->io->self, s, SIGTERM); /* not connected yet */
    }
    cse_coordinator_end_when_all_gone(c);
}

/* Keeps the first failure; false when there was one, or the run is ending. */
static bool take_failure(cse_coordinator *c, cse_status status)
{
    if (c->state >= CSE_COORDINATOR_SETTLING)
        return false;
    c->status = status;
    c->message = cse_strdup(cse_error_message());
    return true;
}

void cse_coordinator_fail(cse_coordinator *c, cse_status status)
{
    if (!take_failure(c, status))
        return;
    const bool untouched = c->state == CSE_COORDINATOR_STARTING && !c->options.inherited;
    if (c->options.settles && untouched)
        c->settled_at = c->options.first_step; /* nothing was released */
    if (!c->options.settles || untouched) {
        cse_coordinator_enter_stopping(c);
        return;
    }
    c->state = CSE_COORDINATOR_SETTLING;
    c->settling_ns = cse_coordinator_now_ns(c);
}

void cse_coordinator_fail_now(cse_coordinator *c, cse_status status)
{
    if (take_failure(c, status))
        cse_coordinator_enter_stopping(c);
}

void cse_coordinator_escalate(cse_coordinator *c)
{
    int64_t waited_ns = cse_coordinator_now_ns(c) - c->stopping_ns;
    static const int signals[] = { SIGTERM, SIGKILL };
    while (c->escalation < 2 && waited_ns >= (c->escalation + 1) * c->options.leave_timeout_ns) {
        for (int s = 0; s < c->options.slot_count; s++)
            if (c->workers[s].state != CSE_WORKER_VACANT)
                c->io->signal(c->io->self, s, signals[c->escalation]);
        c->escalation++;
    }
}
