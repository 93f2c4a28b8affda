/* Operator commands: each is answered at once with what will be done, or why it is rejected. */
#include <stdarg.h>
#include <stdio.h>

#include "workers/control/coordinator_state.h"

CSE_PRINTF(3, 4)
static void answer(cse_operator_reply *reply, cse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reply->text, sizeof reply->text, format, arguments);
    va_end(arguments);
    reply->status = status;
}

static void pause_or_resume(cse_coordinator *c, bool paused, const char *reason)
{
    c->paused = paused;
    cse_coordinator_settle_phase(c, reason);
}

/* Ends without a checkpoint. */
static void end_now(cse_coordinator *c, const char *what)
{
    c->stopped = true;
    cse_coordinator_fail_now(c, cse_fail(CSE_INTERRUPTED,
                                         "%s in step %lld, without a checkpoint of it", what,
                                         (long long)c->arena->steps_done(c->cluster)));
}

static void cancel_with_checkpoint(cse_coordinator *c, const char *reason, int64_t grace_ms)
{
    cse_coordinator_set_phase(c, CSE_PHASE_CANCELLING, reason);
    c->stop_wanted = true;
    if (grace_ms > 0 && grace_ms < INT64_C(1000000000000))
        c->cancel_ns = cse_coordinator_now_ns(c) + grace_ms * 1000000;
}

/* SIGTERM and SIGKILL follow each other at once. */
static void end_workers_now(cse_coordinator *c)
{
    c->stopping_ns = cse_coordinator_now_ns(c) - 2 * c->options.leave_timeout_ns;
    cse_coordinator_escalate(c);
}

static void scale(cse_coordinator *c, int64_t wanted, cse_operator_reply *reply)
{
    reply->reason = CSE_ERROR_UNSUPPORTED;
    if (wanted < 1 || wanted > INT32_MAX) {
        answer(reply, CSE_UNAVAILABLE, "unsupported: num_csx cannot become %lld",
               (long long)wanted);
        return;
    }
    if (wanted > c->options.most_replicas) {
        answer(reply, CSE_UNAVAILABLE,
               "unsupported: num_csx %lld: the run was started with fewer; start it again with "
               "more, it goes on from its last checkpoint with the same bits",
               (long long)wanted);
        return;
    }
    cse_status status = c->arena->plan(c->cluster, (int)wanted);
    if (status != CSE_OK) {
        answer(reply, status, "unsupported: num_csx %lld: %s", (long long)wanted,
               cse_error_message());
        return;
    }
    reply->reason = CSE_ERROR_GENERAL;
    CSE_RUN_EVENT(c->options.events, on_scale, (int)wanted);
    answer(reply, CSE_OK, "%lld replicas share each step from the next one on", (long long)wanted);
}

static void change_hosts(const cse_coordinator *c, const char *hosts, cse_operator_reply *reply)
{
    const cse_run_callbacks *k = c->options.callbacks;
    if (k->change_hosts == NULL) {
        answer(reply, CSE_UNAVAILABLE,
               "the hosts of this run cannot change: it is no training of `csengine start`");
        return;
    }
    cse_status status = k->change_hosts(k->self, hosts);
    if (status != CSE_OK)
        answer(reply, status, "%s", cse_error_message());
    else
        answer(reply, CSE_OK, "stops with a checkpoint after a step and goes on with these hosts");
}

static void obey(cse_coordinator *c, const cse_message *message, cse_operator_reply *reply)
{
    static const char *const phases[] = { "starting", "running",    "pausing",
                                          "paused",   "recovering", "cancelling" };
    static const char checkpoint_follows[] = "ends with a checkpoint after the step in flight";
    switch (message->kind) {
    case CSE_MESSAGE_PAUSE:
        pause_or_resume(c, true, message->pause.reason);
        answer(reply, CSE_OK, "pauses after the step in flight");
        break;
    case CSE_MESSAGE_RESUME:
        pause_or_resume(c, false, message->resume.reason);
        answer(reply, CSE_OK, "goes on");
        break;
    case CSE_MESSAGE_CHECKPOINT:
        if (message->checkpoint.directory != NULL && message->checkpoint.directory[0] != '\0') {
            answer(reply, CSE_UNAVAILABLE,
                   "another directory is for a run whose last checkpoint waits for room");
            break;
        }
        c->checkpoint_wanted = true;
        answer(reply, CSE_OK, "a checkpoint follows the step in flight");
        break;
    case CSE_MESSAGE_STOP:
        cancel_with_checkpoint(c, message->stop.reason, 0);
        answer(reply, CSE_OK, checkpoint_follows);
        break;
    case CSE_MESSAGE_CANCEL:
        if (message->cancel.save) {
            cancel_with_checkpoint(c, message->cancel.reason, message->cancel.grace_ms);
            answer(reply, CSE_OK, checkpoint_follows);
            break;
        }
        cse_coordinator_set_phase(c, CSE_PHASE_CANCELLING, message->cancel.reason);
        end_now(c, "cancelled");
        answer(reply, CSE_OK, "ends at once");
        break;
    case CSE_MESSAGE_KILL:
        cse_coordinator_set_phase(c, CSE_PHASE_CANCELLING, message->kill.reason);
        end_now(c, "killed on request");
        end_workers_now(c);
        answer(reply, CSE_OK, "ends at once");
        break;
    case CSE_MESSAGE_SCALE:
        if (message->scale.hosts != NULL && message->scale.hosts[0] != '\0')
            change_hosts(c, message->scale.hosts, reply);
        else
            scale(c, message->scale.num_csx, reply);
        break;
    case CSE_MESSAGE_STATUS:
        answer(reply, CSE_OK, "%s", phases[c->phase]);
        break;
    default:
        answer(reply, CSE_USAGE, "%s is not an operator command",
               cse_message_kind_name(message->kind));
    }
}

void cse_coordinator_on_operator(cse_coordinator *c, const cse_coordinator_event *event)
{
    cse_operator_reply reply = { .status = CSE_OK };
    obey(c, event->message, &reply);
    reply.step = c->arena->steps_done(c->cluster);
    if (event->reply != NULL)
        *event->reply = reply;
}

/* While the run is ending, only commands that end it sooner are accepted. Where all its steps are
 * done another execution may follow (a validation, the next steps): a pause is kept for that, and
 * a cancel prevents it. */
void cse_coordinator_on_operator_stopping(cse_coordinator *c, const cse_coordinator_event *event)
{
    const cse_message_kind kind = event->message->kind;
    bool goes_on = c->status == CSE_OK && !c->stopped;
    bool keeps = goes_on && (kind == CSE_MESSAGE_PAUSE || kind == CSE_MESSAGE_RESUME);
    bool ends = kind == CSE_MESSAGE_KILL || kind == CSE_MESSAGE_CANCEL || kind == CSE_MESSAGE_STOP;
    if (keeps)
        c->paused = kind == CSE_MESSAGE_PAUSE;
    if (ends)
        c->stopped = true;
    if (kind == CSE_MESSAGE_KILL)
        end_workers_now(c);
    if (event->reply == NULL)
        return;
    *event->reply = (cse_operator_reply){ .step = c->arena->steps_done(c->cluster) };
    if (keeps)
        answer(event->reply, CSE_OK, "%s", c->paused ? "pauses before the next step" : "goes on");
    else
        answer(event->reply, ends || kind == CSE_MESSAGE_STATUS ? CSE_OK : CSE_UNAVAILABLE,
               "the run is ending");
}
