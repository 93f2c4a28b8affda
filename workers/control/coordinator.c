/* The coordinator's state machine.
 *
 * Two things keep training from running away from the coordinator: steps are released only up to
 * the next one after which the states must stand still (a wanted snapshot, the end), and only so
 * far ahead of the last record that was handed out. A pause, an operator's checkpoint and a stop
 * use the arena's hold, which lets the step in flight finish.
 *
 * The first failure decides the status of the run; what follows from it (workers that are told to
 * leave and complain) does not. */
#include "workers/control/coordinator.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"

typedef enum worker_state { VACANT, STARTED, JOINED, READY } worker_state;

typedef struct worker {
    worker_state state;
    int incarnation;
    int64_t started_ns;
    bool frozen; /* killed for not answering */
    bool late;   /* killed for not being ready in time */
} worker;

enum {
    NAME_BYTES = 64,
    CAUSE_BYTES = 128,
    FAILURE_BYTES = 2048,
    REPLY_BYTES = sizeof((cse_operator_reply *)NULL)->text,
    MOST_RESTARTS = 64
};

struct cse_coordinator {
    cse_coordinator_options options;
    const cse_coordinator_io *io;
    cse_coordinator_state state;
    int64_t end_step;
    int64_t closed;      /* steps whose records were handed out */
    int64_t released;    /* steps that may change the states */
    int64_t barrier;     /* the released step after which they stand still, or -1 */
    int64_t held_at;     /* where a hold will make them stand still, or -1 */
    int64_t snapshot_at; /* steps of the last snapshot, or -1 */
    bool paused, checkpoint_wanted, stop_wanted;
    int64_t cancel_ns; /* when a cancelled run ends without a checkpoint; 0: not set */
    cse_phase phase;
    bool phase_told; /* one was */
    bool stopped;    /* ended by a request before the last step */
    int64_t running_ns, last_commit_ns;
    int64_t stopping_ns;
    int escalation; /* 0: asked to leave, SIGTERM and SIGKILL follow */
    int64_t restarts_ns[MOST_RESTARTS];
    int64_t restart_count;
    cse_status status;
    char *message;
    worker workers[];
};

static const char *name_of(cse_coordinator *c, int slot, char text[NAME_BYTES])
{
    return cse_process_name(c->io->process(c->io->self, slot), text, NAME_BYTES);
}

static int64_t now_ns(const cse_coordinator *c)
{
    return c->io->now_ns(c->io->self);
}

cse_coordinator *cse_coordinator_new(const cse_coordinator_options *options)
{
    size_t workers_bytes = (size_t)options->slot_count * sizeof(worker);
    cse_coordinator *c = cse_calloc(1, sizeof *c + workers_bytes);
    c->options = *options;
    c->io = options->io;
    c->end_step = options->first_step + options->num_steps;
    c->closed = c->released = options->first_step;
    c->barrier = c->held_at = c->snapshot_at = -1;
    for (int s = 0; s < options->slot_count; s++)
        c->workers[s].incarnation = -1;
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

/* ---- What those who watch are told ---- */

static void set_phase(cse_coordinator *c, cse_phase phase, const char *message)
{
    if (c->phase_told && c->phase == phase)
        return;
    c->phase = phase;
    c->phase_told = true;
    CSE_RUN_EVENT(c->options.events, on_phase, phase, message != NULL ? message : "");
}

static bool all_ready(const cse_coordinator *c)
{
    for (int s = 0; s < c->options.slot_count; s++)
        if (c->workers[s].state != READY)
            return false;
    return true;
}

/* The phase that the facts of a run in RUNNING amount to. */
static void settle_phase(cse_coordinator *c, const char *message)
{
    if (c->state != CSE_COORDINATOR_RUNNING || c->stop_wanted)
        return;
    int64_t done = c->io->steps_done(c->io->self);
    if (c->paused)
        set_phase(c, done == c->closed && done == c->held_at ? CSE_PHASE_PAUSED : CSE_PHASE_PAUSING,
                  message);
    else
        set_phase(c, all_ready(c) ? CSE_PHASE_RUNNING : CSE_PHASE_RECOVERING, message);
}

/* ---- Leaving ---- */

static void end_when_all_gone(cse_coordinator *c)
{
    for (int s = 0; s < c->options.slot_count; s++)
        if (c->workers[s].state != VACANT)
            return;
    c->state = CSE_COORDINATOR_ENDED;
}

static void tell_to_leave(cse_coordinator *c, int slot)
{
    cse_message stop = { .kind = CSE_MESSAGE_STOP };
    stop.stop.reason = c->status == CSE_OK ? "the run is over" : "the run failed";
    /* Who cannot be told finds it in the arena, or is told by a signal later. */
    c->io->send(c->io->self, slot, &stop);
}

static void enter_stopping(cse_coordinator *c)
{
    c->state = CSE_COORDINATOR_STOPPING;
    c->stopping_ns = now_ns(c);
    c->io->stop(c->io->self);
    for (int s = 0; s < c->options.slot_count; s++) {
        if (c->workers[s].state == JOINED || c->workers[s].state == READY)
            tell_to_leave(c, s);
        else if (c->workers[s].state == STARTED)
            c->io->signal(c->io->self, s, SIGTERM); /* has no ears yet */
    }
    end_when_all_gone(c);
}

/* Ends the run with `status` and the thread's last message, unless it is ending already. */
static void fail(cse_coordinator *c, cse_status status)
{
    if (c->state >= CSE_COORDINATOR_STOPPING)
        return;
    c->status = status;
    c->message = cse_strdup(cse_error_message());
    enter_stopping(c);
}

static void escalate(cse_coordinator *c)
{
    int64_t waited_ns = now_ns(c) - c->stopping_ns;
    static const int signals[] = { SIGTERM, SIGKILL };
    while (c->escalation < 2 && waited_ns >= (c->escalation + 1) * c->options.leave_timeout_ns) {
        for (int s = 0; s < c->options.slot_count; s++)
            if (c->workers[s].state != VACANT)
                c->io->signal(c->io->self, s, signals[c->escalation]);
        c->escalation++;
    }
}

/* ---- Workers ---- */

static void start_worker(cse_coordinator *c, int slot)
{
    worker *w = &c->workers[slot];
    *w = (worker){ .state = STARTED, .incarnation = w->incarnation + 1, .started_ns = now_ns(c) };
    cse_status status = c->io->start(c->io->self, slot, w->incarnation);
    if (status == CSE_OK)
        return;
    w->state = VACANT;
    char name[NAME_BYTES];
    fail(c, cse_fail_within(status, "%s cannot be started: ", name_of(c, slot, name)));
}

static void on_begin(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    set_phase(c, CSE_PHASE_STARTING, NULL);
    for (int s = 0; s < c->options.slot_count && c->state == CSE_COORDINATOR_STARTING; s++)
        start_worker(c, s);
}

static void advance_release(cse_coordinator *c);

static void begin_running_when_all_ready(cse_coordinator *c)
{
    if (!all_ready(c))
        return;
    c->state = CSE_COORDINATOR_RUNNING;
    c->running_ns = c->last_commit_ns = now_ns(c);
    settle_phase(c, NULL);
    advance_release(c);
}

static void on_join(cse_coordinator *c, int slot)
{
    worker *w = &c->workers[slot];
    if (w->state != STARTED) {
        char name[NAME_BYTES];
        cse_log_line(CSE_LOG_WARNING, "%s: joined twice; the second time is ignored",
                     name_of(c, slot, name));
        return;
    }
    w->state = JOINED;
    /* Who left between asking and being answered is reported by its process's end, and who cannot
     * be reached for another reason is late. */
    c->io->send(c->io->self, slot, &c->options.welcome);
}

static cse_status accepted_status(int64_t number)
{
    return number > CSE_OK && number <= CSE_INTERRUPTED ? (cse_status)number : CSE_INTERNAL;
}

/* A log record as from the process that the slot belongs to, whatever the message says. */
static void pass_record(cse_coordinator *c, const cse_coordinator_event *event)
{
    int64_t level = event->message->log.level;
    cse_log_pass(&(cse_log_record){
        .level =
            level >= CSE_LOG_DEBUG && level <= CSE_LOG_ERROR ? (cse_log_level)level : CSE_LOG_INFO,
        .process = c->io->process(c->io->self, event->slot),
        .time_ms = event->message->log.time_ms,
        .text = event->message->log.line,
    });
}

static void on_message(cse_coordinator *c, const cse_coordinator_event *event)
{
    const cse_message *m = event->message;
    if (event->slot < 0 || event->slot >= c->options.slot_count)
        return;
    worker *w = &c->workers[event->slot];
    if (w->state == VACANT || w->incarnation != event->incarnation)
        return; /* from a process that is buried */
    char name[NAME_BYTES];
    name_of(c, event->slot, name);
    switch (m->kind) {
    case CSE_MESSAGE_JOIN:
        on_join(c, event->slot);
        break;
    case CSE_MESSAGE_READY:
        if (w->state == JOINED) {
            w->state = READY;
            if (c->state == CSE_COORDINATOR_STARTING)
                begin_running_when_all_ready(c);
            else if (c->phase == CSE_PHASE_RECOVERING)
                settle_phase(c, "the new process is ready");
        }
        break;
    case CSE_MESSAGE_LOG:
        pass_record(c, event);
        break;
    case CSE_MESSAGE_FAILURE:
        fail(c, cse_fail(accepted_status(m->failure.status), "%s: %s", name, m->failure.text));
        break;
    default: /* BYE: the process's end follows and tells the same; the others are not a worker's */
        break;
    }
}

/* While stopping, a worker that joins only now is told to leave, and log lines still pass. */
static void on_late_message(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (event->message->kind == CSE_MESSAGE_LOG)
        on_message(c, event);
    else if (event->message->kind == CSE_MESSAGE_JOIN && event->slot >= 0 &&
             event->slot < c->options.slot_count && c->workers[event->slot].state == STARTED &&
             c->workers[event->slot].incarnation == event->incarnation)
        tell_to_leave(c, event->slot);
}

static const char *cause_of(const worker *w, cse_exit how, char text[CAUSE_BYTES])
{
    if (w->frozen)
        snprintf(text, CAUSE_BYTES, "did not answer any more and was killed");
    else if (w->late)
        snprintf(text, CAUSE_BYTES, "was not ready in time and was killed");
    else
        cse_exit_text(how, text, CAUSE_BYTES);
    return text;
}

/* Buries the slot's process. True when it had left a failure, which then ends the run. */
static bool reap(cse_coordinator *c, int slot)
{
    char text[FAILURE_BYTES], name[NAME_BYTES];
    cse_status status = c->io->failure(c->io->self, slot, text, sizeof text);
    c->io->reap(c->io->self, slot);
    c->workers[slot].state = VACANT;
    if (status != CSE_OK)
        fail(c, cse_fail(status, "%s: %s", name_of(c, slot, name), text));
    return status != CSE_OK;
}

static void on_gone_starting(cse_coordinator *c, const cse_coordinator_event *event)
{
    worker w = c->workers[event->slot];
    if (w.state == VACANT || reap(c, event->slot))
        return;
    char name[NAME_BYTES], cause[CAUSE_BYTES];
    fail(c, cse_fail(CSE_UNAVAILABLE,
                     "%s %s before the run began; its own messages stand above, if it had any",
                     name_of(c, event->slot, name), cause_of(&w, event->how, cause)));
}

/* Whether one more restart keeps within the limit; counts it. */
static bool may_restart(cse_coordinator *c)
{
    int limit = c->options.restarts_per_minute;
    if (limit > MOST_RESTARTS)
        limit = MOST_RESTARTS;
    if (limit <= 0)
        return false;
    int64_t now = now_ns(c), oldest = c->restarts_ns[c->restart_count % limit];
    if (c->restart_count >= limit && now - oldest < INT64_C(60000000000))
        return false;
    c->restarts_ns[c->restart_count++ % limit] = now;
    return true;
}

static void on_gone_running(cse_coordinator *c, const cse_coordinator_event *event)
{
    worker w = c->workers[event->slot];
    if (w.state == VACANT || reap(c, event->slot))
        return;
    int64_t done = c->io->steps_done(c->io->self);
    if (event->how.signal == 0 && event->how.code == 0 && done >= c->end_step)
        return; /* nothing was left to do for it */
    char name[NAME_BYTES], cause[CAUSE_BYTES];
    name_of(c, event->slot, name);
    cause_of(&w, event->how, cause);
    if (may_restart(c)) {
        char line[NAME_BYTES + CAUSE_BYTES + 64];
        snprintf(line, sizeof line, "%s %s in step %lld; a new process takes its place", name,
                 cause, (long long)done);
        cse_log_line(CSE_LOG_WARNING, "%s", line);
        start_worker(c, event->slot);
        if (c->state == CSE_COORDINATOR_RUNNING && !c->paused && !c->stop_wanted)
            set_phase(c, CSE_PHASE_RECOVERING, line);
        return;
    }
    fail(c,
         cse_fail(CSE_UNAVAILABLE,
                  "%s %s in step %lld, after %lld restarts; see the log and the kernel's "
                  "messages (out of memory?), then start again to go on from the last checkpoint",
                  name, cause, (long long)done, (long long)c->restart_count));
}

static void on_gone_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    if (c->workers[event->slot].state == VACANT)
        return;
    c->io->reap(c->io->self, event->slot);
    c->workers[event->slot].state = VACANT;
    end_when_all_gone(c);
}

static void on_frozen(cse_coordinator *c, const cse_coordinator_event *event)
{
    worker *w = &c->workers[event->slot];
    if (w->state == VACANT)
        return;
    w->frozen = true;
    c->io->signal(c->io->self, event->slot, SIGKILL);
}

/* ---- Steps ---- */

static bool is_wanted(cse_coordinator *c, int64_t steps)
{
    const cse_run_callbacks *k = c->options.callbacks;
    return steps >= c->end_step || (k->wants_snapshot != NULL && k->wants_snapshot(k->self, steps));
}

/* Releases steps up to the next barrier, not further ahead of the records than they are kept. Each
 * number of steps is asked about once, in order. */
static void advance_release(cse_coordinator *c)
{
    int64_t before = c->released, most = c->closed + c->options.record_count;
    while (c->barrier < 0 && c->released < most) {
        c->released++;
        if (is_wanted(c, c->released))
            c->barrier = c->released;
    }
    if (c->released > before)
        c->io->release(c->io->self, c->released);
}

static void drain_records(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_record record;
    while (c->state == CSE_COORDINATOR_RUNNING && c->io->next_record(c->io->self, &record)) {
        c->last_commit_ns = record.committed_ns;
        record.steps_done = c->io->steps_done(c->io->self);
        cse_status status = k->on_record != NULL ? k->on_record(k->self, &record) : CSE_OK;
        c->io->close_record(c->io->self);
        c->closed = record.step + 1;
        if (status != CSE_OK)
            fail(c, status);
    }
}

static void look_for_stop(cse_coordinator *c)
{
    const cse_run_callbacks *k = c->options.callbacks;
    cse_stop_request request =
        k->stop_requested != NULL ? k->stop_requested(k->self) : CSE_STOP_NONE;
    if (request != CSE_STOP_NONE)
        set_phase(c, CSE_PHASE_CANCELLING, "a stop was asked for");
    if (request == CSE_STOP_NOW) {
        c->stopped = true;
        fail(c, cse_fail(CSE_INTERRUPTED,
                         "stopped on request in step %lld, without a checkpoint of it",
                         (long long)c->io->steps_done(c->io->self)));
    } else if (request == CSE_STOP_CHECKPOINT) {
        c->stop_wanted = true;
    }
}

/* An operator's checkpoint waits for the first step: what the run began with is saved already, or
 * can be had again from the seed. */
static bool wants_checkpoint(const cse_coordinator *c)
{
    return c->checkpoint_wanted && c->closed > c->options.first_step;
}

static void update_hold(cse_coordinator *c)
{
    bool wanted = c->paused || wants_checkpoint(c) || c->stop_wanted;
    if (wanted && c->held_at < 0)
        c->held_at = c->io->hold(c->io->self);
    if (!wanted && c->held_at >= 0) {
        c->held_at = -1;
        c->io->unhold(c->io->self);
    }
}

/* The states stand still after `steps`: keeps a copy, lets training go on, hands the copy out. */
static void take_snapshot(cse_coordinator *c, int64_t steps)
{
    const cse_run_callbacks *k = c->options.callbacks;
    const cse_snapshot snapshot = { .steps_done = steps,
                                    .states = c->options.states,
                                    .ending = c->stop_wanted };
    c->io->copy_states(c->io->self);
    c->snapshot_at = steps;
    if (steps > c->options.first_step)
        c->checkpoint_wanted = false;
    if (c->barrier == steps && steps < c->end_step)
        c->barrier = -1;
    if (!c->stop_wanted) {
        update_hold(c);
        advance_release(c);
    }
    cse_status status = k->on_snapshot != NULL ? k->on_snapshot(k->self, &snapshot) : CSE_OK;
    if (status != CSE_OK)
        fail(c, status);
}

static void when_standing_still(cse_coordinator *c, int64_t steps)
{
    bool is_end = steps >= c->end_step;
    bool leaves = is_end || c->stop_wanted;
    if ((c->barrier == steps || wants_checkpoint(c) || leaves) && c->snapshot_at != steps)
        take_snapshot(c, steps);
    if (steps > c->options.first_step)
        c->checkpoint_wanted = false;
    if (!leaves || c->state != CSE_COORDINATOR_RUNNING)
        return;
    c->stopped = !is_end;
    enter_stopping(c);
}

static void pump(cse_coordinator *c)
{
    drain_records(c);
    if (c->state == CSE_COORDINATOR_RUNNING)
        look_for_stop(c);
    if (c->state != CSE_COORDINATOR_RUNNING)
        return;
    update_hold(c);
    advance_release(c);
    int64_t done = c->io->steps_done(c->io->self);
    if (done == c->closed && (done == c->barrier || done == c->held_at))
        when_standing_still(c, done);
    if (c->paused && c->phase == CSE_PHASE_PAUSING)
        settle_phase(c, NULL);
}

/* The checkpoint of a cancelled run took longer than it may. */
static void watch_cancel(cse_coordinator *c)
{
    if (c->cancel_ns == 0 || c->state >= CSE_COORDINATOR_STOPPING || now_ns(c) < c->cancel_ns)
        return;
    c->stopped = true;
    fail(c, cse_fail(CSE_INTERRUPTED,
                     "cancelled in step %lld, without a checkpoint of it: none was there within "
                     "the time given",
                     (long long)c->io->steps_done(c->io->self)));
}

static void kill_late_workers(cse_coordinator *c)
{
    int64_t now = now_ns(c);
    for (int s = 0; s < c->options.slot_count; s++) {
        worker *w = &c->workers[s];
        if (w->state == VACANT || w->state == READY || w->late ||
            now - w->started_ns < c->options.start_timeout_ns)
            continue;
        w->late = true;
        c->io->signal(c->io->self, s, SIGKILL);
    }
}

static void on_tick_starting(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    kill_late_workers(c);
    look_for_stop(c);
    watch_cancel(c);
    if (c->state == CSE_COORDINATOR_STARTING && c->stop_wanted) {
        c->stopped = true; /* nothing was changed: nothing to save */
        enter_stopping(c);
    }
}

static void on_tick_running(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    kill_late_workers(c);
    pump(c);
    watch_cancel(c);
}

static void on_tick_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    (void)event;
    const cse_run_callbacks *k = c->options.callbacks;
    /* Somebody who asks once more has waited long enough. */
    if (c->stop_wanted && k->stop_requested != NULL && k->stop_requested(k->self) == CSE_STOP_NOW &&
        c->escalation < 2) {
        c->stopping_ns = now_ns(c) - 2 * c->options.leave_timeout_ns;
        c->stop_wanted = false;
    }
    escalate(c);
}

/* ---- Operators ---- */

static cse_status on_pause(cse_coordinator *c, const cse_message *message, char text[REPLY_BYTES])
{
    c->paused = true;
    settle_phase(c, message->pause.reason);
    snprintf(text, REPLY_BYTES, "pauses after the step in flight");
    return CSE_OK;
}

static cse_status on_resume(cse_coordinator *c, const cse_message *message, char text[REPLY_BYTES])
{
    c->paused = false;
    settle_phase(c, message->resume.reason);
    snprintf(text, REPLY_BYTES, "goes on");
    return CSE_OK;
}

static cse_status on_checkpoint(cse_coordinator *c, char text[REPLY_BYTES])
{
    c->checkpoint_wanted = true;
    snprintf(text, REPLY_BYTES, "a checkpoint follows the step in flight");
    return CSE_OK;
}

/* Ends without a checkpoint. */
static cse_status end_now(cse_coordinator *c, const char *what, char text[REPLY_BYTES])
{
    c->stopped = true;
    fail(c, cse_fail(CSE_INTERRUPTED, "%s in step %lld, without a checkpoint of it", what,
                     (long long)c->io->steps_done(c->io->self)));
    snprintf(text, REPLY_BYTES, "ends at once");
    return CSE_OK;
}

static cse_status on_cancel(cse_coordinator *c, const cse_message *message, char text[REPLY_BYTES])
{
    int64_t grace_ms = message->cancel.grace_ms;
    set_phase(c, CSE_PHASE_CANCELLING, message->cancel.reason);
    if (!message->cancel.save)
        return end_now(c, "cancelled", text);
    c->stop_wanted = true;
    if (grace_ms > 0 && grace_ms < INT64_C(1000000000000))
        c->cancel_ns = now_ns(c) + grace_ms * 1000000;
    snprintf(text, REPLY_BYTES, "ends with a checkpoint after the step in flight");
    return CSE_OK;
}

static cse_status on_kill(cse_coordinator *c, const cse_message *message, char text[REPLY_BYTES])
{
    set_phase(c, CSE_PHASE_CANCELLING, message->kill.reason);
    end_now(c, "killed on request", text);
    c->stopping_ns = now_ns(c) - 2 * c->options.leave_timeout_ns;
    escalate(c);
    return CSE_OK;
}

static cse_status on_scale(cse_coordinator *c, const cse_message *message,
                           cse_operator_reply *reply)
{
    int most = 0;
    int64_t wanted = message->scale.num_csx;
    reply->reason = CSE_ERROR_UNSUPPORTED;
    if (c->io->plan == NULL || wanted < 1 || wanted > INT32_MAX) {
        snprintf(reply->text, REPLY_BYTES, "unsupported: num_csx cannot become %lld",
                 (long long)wanted);
        return CSE_UNAVAILABLE;
    }
    cse_status status = c->io->plan(c->io->self, (int)wanted, &most);
    if (status != CSE_OK) {
        snprintf(reply->text, REPLY_BYTES, "unsupported: num_csx %lld: %s", (long long)wanted,
                 wanted > most ? "the run was started with fewer; start it again with more, "
                                 "it goes on from its last checkpoint with the same bits"
                               : cse_error_message());
        return status;
    }
    reply->reason = CSE_ERROR_GENERAL;
    CSE_RUN_EVENT(c->options.events, on_scale, (int)wanted);
    snprintf(reply->text, REPLY_BYTES, "%lld replicas share each step from the next one on",
             (long long)wanted);
    return CSE_OK;
}

static cse_status obey(cse_coordinator *c, const cse_message *message, cse_operator_reply *reply)
{
    char *text = reply->text;
    static const char *const phases[] = { "starting", "running",    "pausing",
                                          "paused",   "recovering", "cancelling" };
    switch (message->kind) {
    case CSE_MESSAGE_PAUSE:
        return on_pause(c, message, text);
    case CSE_MESSAGE_RESUME:
        return on_resume(c, message, text);
    case CSE_MESSAGE_CHECKPOINT:
        return on_checkpoint(c, text);
    case CSE_MESSAGE_STOP:
        return on_cancel(c,
                         &(cse_message){ .kind = CSE_MESSAGE_CANCEL,
                                         .cancel = { .save = 1, .reason = message->stop.reason } },
                         text);
    case CSE_MESSAGE_CANCEL:
        return on_cancel(c, message, text);
    case CSE_MESSAGE_KILL:
        return on_kill(c, message, text);
    case CSE_MESSAGE_SCALE:
        return on_scale(c, message, reply);
    case CSE_MESSAGE_STATUS:
        snprintf(text, REPLY_BYTES, "%s", phases[c->phase]);
        return CSE_OK;
    default:
        snprintf(text, REPLY_BYTES, "%s is not for an operator to say",
                 cse_message_kind_name(message->kind));
        return CSE_USAGE;
    }
}

static void on_operator(cse_coordinator *c, const cse_coordinator_event *event)
{
    cse_operator_reply reply = { .status = CSE_OK };
    reply.status = obey(c, event->message, &reply);
    reply.step = c->io->steps_done(c->io->self);
    if (event->reply != NULL)
        *event->reply = reply;
}

/* An ending run can only be ended sooner. */
static void on_operator_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    bool kills = event->message->kind == CSE_MESSAGE_KILL;
    bool accepted = kills || event->message->kind == CSE_MESSAGE_CANCEL ||
                    event->message->kind == CSE_MESSAGE_STATUS;
    if (kills) {
        c->stopping_ns = now_ns(c) - 2 * c->options.leave_timeout_ns;
        escalate(c);
    }
    if (event->reply == NULL)
        return;
    *event->reply = (cse_operator_reply){ .status = accepted ? CSE_OK : CSE_UNAVAILABLE,
                                          .step = c->io->steps_done(c->io->self) };
    snprintf(event->reply->text, sizeof event->reply->text, "the run is ending");
}

/* ---- The machine ---- */

typedef void handler(cse_coordinator *c, const cse_coordinator_event *event);

/* NULL: the event means nothing in that state. */
static handler *const handlers[CSE_COORDINATOR_STATE_COUNT][CSE_EVENT_COUNT] = {
    [CSE_COORDINATOR_STARTING] = { [CSE_EVENT_BEGIN] = on_begin,
                                   [CSE_EVENT_MESSAGE] = on_message,
                                   [CSE_EVENT_OPERATOR] = on_operator,
                                   [CSE_EVENT_GONE] = on_gone_starting,
                                   [CSE_EVENT_FROZEN] = on_frozen,
                                   [CSE_EVENT_TICK] = on_tick_starting },
    [CSE_COORDINATOR_RUNNING] = { [CSE_EVENT_MESSAGE] = on_message,
                                  [CSE_EVENT_OPERATOR] = on_operator,
                                  [CSE_EVENT_GONE] = on_gone_running,
                                  [CSE_EVENT_FROZEN] = on_frozen,
                                  [CSE_EVENT_TICK] = on_tick_running },
    [CSE_COORDINATOR_STOPPING] = { [CSE_EVENT_MESSAGE] = on_late_message,
                                   [CSE_EVENT_OPERATOR] = on_operator_stopping,
                                   [CSE_EVENT_GONE] = on_gone_stopping,
                                   [CSE_EVENT_FROZEN] = on_frozen,
                                   [CSE_EVENT_TICK] = on_tick_stopping },
};

void cse_coordinator_handle(cse_coordinator *coordinator, const cse_coordinator_event *event)
{
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
           (c->barrier >= 0 && c->barrier - c->io->steps_done(c->io->self) <= 1);
}

int cse_coordinator_incarnation(const cse_coordinator *coordinator, int slot)
{
    const worker *w = &coordinator->workers[slot];
    return w->state == VACANT ? -1 : w->incarnation;
}

cse_status cse_coordinator_result(const cse_coordinator *c, cse_run_result *result)
{
    result->steps_done = c->status == CSE_OK ? c->closed : c->io->steps_done(c->io->self);
    result->stopped = c->stopped;
    result->train_seconds = (double)(c->last_commit_ns - c->running_ns) * 1e-9;
    return c->status == CSE_OK ? CSE_OK : cse_fail(c->status, "%s", c->message);
}
