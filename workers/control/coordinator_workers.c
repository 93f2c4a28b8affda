/* The life cycle of each worker: started, joined, ready, gone. */
#include <signal.h>
#include <stdio.h>

#include "engine/base/log.h"
#include "workers/control/coordinator_state.h"

void cse_coordinator_on_begin(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    cse_coordinator_set_phase(c, CSE_PHASE_STARTING, NULL);
    if (c->options.inherited)
        cse_coordinator_take_arena(c);
    cse_coordinator_take_barred(c);
    if (c->arena->steps_done(c->cluster) >= c->end_step) {
        cse_coordinator_begin_running(c); /* no step is left: no worker */
        return;
    }
    for (int s = 0; s < c->options.slot_count && c->state == CSE_COORDINATOR_STARTING; s++)
        if (!c->workers[s].barred)
            cse_coordinator_start_worker(c, s);
}

static void begin_running_when_all_ready(cse_coordinator *c)
{
    if (cse_coordinator_all_ready(c))
        cse_coordinator_begin_running(c);
}

static void on_ready(cse_coordinator *c, int slot)
{
    char name[CSE_PROCESS_NAME_BYTES];
    cse_worker *w = &c->workers[slot];
    if (w->state != CSE_WORKER_JOINED)
        return;
    w->state = CSE_WORKER_READY;
    w->was_ready = true;
    w->ready_ns = cse_coordinator_now_ns(c);
    w->ready_steps = c->arena->steps_done(c->cluster);
    if (c->state == CSE_COORDINATOR_STARTING)
        begin_running_when_all_ready(c);
    else if (c->phase == CSE_PHASE_RECOVERING)
        cse_coordinator_settle_phase(c, "the new process is ready");
    if (w->lost_ns == 0)
        return;
    const cse_process_recovery recovery = { .process = cse_coordinator_name_of(c, slot, name),
                                            .reason = w->lost_cause,
                                            .lost_ns = w->lost_ns,
                                            .ready_ns = w->ready_ns };
    w->lost_ns = 0;
    CSE_RUN_EVENT(c->options.events, on_recovery, &recovery);
}

static void on_join(cse_coordinator *c, int slot)
{
    cse_worker *w = &c->workers[slot];
    if (w->state != CSE_WORKER_STARTED) {
        char name[CSE_PROCESS_NAME_BYTES];
        cse_log_line(CSE_LOG_WARNING, "%s: joined twice; the second JOIN is ignored",
                     cse_coordinator_name_of(c, slot, name));
        return;
    }
    w->state = CSE_WORKER_JOINED;
    /* A failure is not checked: if the worker has died, the launcher reports it; if it cannot be
     * reached for another reason, it is killed when it is not ready in time. */
    c->io->send(c->io->self, slot, &c->options.welcome);
}

static cse_status accepted_status(int64_t number)
{
    return number > CSE_OK && number <= CSE_INTERRUPTED ? (cse_status)number : CSE_INTERNAL;
}

/* Logs a worker's line under the name of its slot, whatever the message says. */
static void pass_record(cse_coordinator *c, const cse_coordinator_event *event)
{
    int64_t level = event->message->log.level;
    cse_log_pass(&(cse_log_record){
        .level =
            level >= CSE_LOG_DEBUG && level <= CSE_LOG_ERROR ? (cse_log_level)level : CSE_LOG_INFO,
        .process = c->arena->process(c->cluster, event->slot),
        .time_ms = event->message->log.time_ms,
        .text = event->message->log.line,
    });
}

void cse_coordinator_on_message(cse_coordinator *c, const cse_coordinator_event *event)
{
    const cse_message *m = event->message;
    if (event->slot < 0 || event->slot >= c->options.slot_count)
        return;
    cse_worker *w = &c->workers[event->slot];
    if (w->state == CSE_WORKER_VACANT || w->incarnation != event->incarnation)
        return; /* from a process that has been reaped */
    char name[CSE_PROCESS_NAME_BYTES];
    cse_coordinator_name_of(c, event->slot, name);
    switch (m->kind) {
    case CSE_MESSAGE_JOIN:
        on_join(c, event->slot);
        break;
    case CSE_MESSAGE_READY:
        on_ready(c, event->slot);
        break;
    case CSE_MESSAGE_LOG:
        pass_record(c, event);
        break;
    case CSE_MESSAGE_FAILURE:
        cse_coordinator_fail(
            c, cse_fail(accepted_status(m->failure.status), "%s: %s", name, m->failure.text));
        break;
    default: /* BYE: the process's end follows; others are not sent by workers */
        break;
    }
}

/* While stopping, a worker that joins is told to exit, and log lines are still passed on. */
void cse_coordinator_on_late_message(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (event->message->kind == CSE_MESSAGE_LOG)
        cse_coordinator_on_message(c, event);
    else if (event->message->kind == CSE_MESSAGE_JOIN && event->slot >= 0 &&
             event->slot < c->options.slot_count &&
             c->workers[event->slot].state == CSE_WORKER_STARTED &&
             c->workers[event->slot].incarnation == event->incarnation)
        cse_coordinator_tell_to_leave(c, event->slot);
}

static const char *cause_of(const cse_worker *w, cse_exit how, char text[CSE_CAUSE_BYTES])
{
    if (w->frozen)
        snprintf(text, CSE_CAUSE_BYTES, "stopped answering and was killed");
    else if (w->late)
        snprintf(text, CSE_CAUSE_BYTES, "was not ready in time and was killed");
    else if (w->wrong)
        snprintf(text, CSE_CAUSE_BYTES, "computed other bits and was killed");
    else
        cse_exit_text(how, text, CSE_CAUSE_BYTES);
    return text;
}

/* Reaps the slot's process. True when it had left a failure, which then ends the run. */
static bool reap(cse_coordinator *c, int slot)
{
    char text[CSE_FAILURE_TEXT_BYTES], name[CSE_PROCESS_NAME_BYTES];
    cse_status status = c->arena->failure(c->cluster, slot, text);
    c->io->reap(c->io->self, slot);
    c->workers[slot].state = CSE_WORKER_VACANT;
    if (status != CSE_OK)
        cse_coordinator_fail(
            c, cse_fail(status, "%s: %s", cse_coordinator_name_of(c, slot, name), text));
    return status != CSE_OK;
}

void cse_coordinator_on_gone(cse_coordinator *c, const cse_coordinator_event *event)
{
    const cse_worker w = c->workers[event->slot];
    const cse_exit how = event->how;
    if (w.state == CSE_WORKER_VACANT || reap(c, event->slot))
        return;
    if (how.signal == 0 && how.code == 0 && c->arena->steps_done(c->cluster) >= c->end_step)
        return; /* there was no more work for it */
    char cause[CSE_CAUSE_BYTES];
    bool ended_itself = how.signal == 0 && how.code != cse_status_exit_code(CSE_INTERRUPTED);
    cause_of(&w, how, cause);
    if (cse_coordinator_died_of_memory(c, &w, how)) {
        if (cse_coordinator_end_for_memory(c))
            return;
        snprintf(cause, sizeof cause, "was killed by the kernel for lack of memory");
    }
    if (w.barred)
        cse_coordinator_leave_vacant(c, event->slot, cause);
    else
        cse_coordinator_replace(c, event->slot, cause, ended_itself);
}

void cse_coordinator_on_gone_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (c->workers[event->slot].state == CSE_WORKER_VACANT)
        return;
    c->io->reap(c->io->self, event->slot);
    c->workers[event->slot].state = CSE_WORKER_VACANT;
    cse_coordinator_end_when_all_gone(c);
}

void cse_coordinator_on_frozen(cse_coordinator *c, const cse_coordinator_event *event)
{
    cse_worker *w = &c->workers[event->slot];
    if (w->state == CSE_WORKER_VACANT)
        return;
    w->frozen = true;
    c->io->signal(c->io->self, event->slot, SIGKILL);
}
