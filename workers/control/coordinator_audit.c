/* What follows when an audit (workers/arena/audit.h) finds a process wrong: it is killed, and its
 * slot, which stands for a processor, gets no other process while there is another replica. The
 * last replica is replaced once; found wrong again, it ends the run before the step is committed.
 * So does a second case in which nobody can tell who is wrong; at the first one, new processes take
 * the place of all that were asked. */
#include <signal.h>
#include <stdio.h>

#include "engine/base/log.h"
#include "workers/arena/audit.h"
#include "workers/control/coordinator_state.h"

/* Replicas that may go on beside that of the slot. */
static int other_replicas(const cse_coordinator *c, int slot)
{
    int count = 0;
    for (int s = 0; s < c->options.slot_count; s++)
        count += s != slot && !c->workers[s].barred &&
                 c->arena->process(c->cluster, s).role == CSE_ROLE_REPLICA;
    return count;
}

static void core_text(int core, char *text, size_t size)
{
    if (core >= 0)
        snprintf(text, size, "core %d", core);
    else
        snprintf(text, size, "a core that is not known");
}

/* How far back its bits are not confirmed. */
static void since_text(const cse_audit_finding *f, char *text, size_t size)
{
    if (f->confirmed > 0)
        snprintf(text, size, "its bits were last confirmed in step %lld", (long long)f->confirmed);
    else
        snprintf(text, size, "none of its bits were confirmed before");
}

static void describe(const cse_coordinator *c, const cse_audit_finding *f, cse_text *text)
{
    char name[CSE_PROCESS_NAME_BYTES], other[CSE_PROCESS_NAME_BYTES], core[40], other_core[40];
    char since[80];
    core_text(f->made.core, core, sizeof core);
    core_text(f->other.core, other_core, sizeof other_core);
    since_text(f, since, sizeof since);
    cse_text_add(
        text,
        "audit of step %lld, microbatch %d: %s (process %d on %s of %s) computed gradients of "
        "digest %016llx, where %s (process %d on %s) has %016llx%s; %s",
        (long long)atomic_load(&f->sequence), f->microbatch,
        cse_coordinator_name_of(c, f->made.slot, name), f->made.process, core, c->options.host,
        (unsigned long long)f->made.digest, cse_coordinator_name_of(c, f->other.slot, other),
        f->other.process, other_core, (unsigned long long)f->other.digest,
        f->undecided ? ": no two agree, and who is wrong cannot be told" : "", since);
}

static void tell(cse_coordinator *c, const cse_audit_finding *f, const char *text)
{
    char name[CSE_PROCESS_NAME_BYTES];
    const cse_audit_report report = { .host = c->options.host,
                                      .process = cse_coordinator_name_of(c, f->made.slot, name),
                                      .process_id = f->made.process,
                                      .core = f->made.core,
                                      .step = atomic_load(&f->sequence),
                                      .microbatch = f->microbatch,
                                      .confirmed_step = f->confirmed,
                                      .undecided = f->undecided != 0,
                                      .text = text };
    cse_log_line(CSE_LOG_WARNING, "%s", text);
    CSE_RUN_EVENT(c->options.events, on_audit, &report);
}

static void end_run(cse_coordinator *c, const char *text, const char *why)
{
    cse_coordinator_fail_now(
        c, cse_fail(CSE_UNAVAILABLE,
                    "%s; %s: the step is not committed; test the processor and its memory, then "
                    "start again to go on from the last checkpoint, on others",
                    text, why));
}

/* Fewer share a step from the next one on. */
static void bar(cse_coordinator *c, int slot)
{
    const int left = other_replicas(c, slot);
    c->workers[slot].barred = true;
    c->arena->bar(c->cluster, slot);
    if (c->options.most_replicas <= left)
        return;
    c->options.most_replicas = left;
    if (c->arena->plan(c->cluster, left) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
}

/* False: the run ends. */
static bool decide(cse_coordinator *c, const cse_audit_finding *f, const char *text)
{
    cse_worker *w = &c->workers[f->made.slot];
    if (w->barred)
        return true;
    if (!f->undecided && other_replicas(c, f->made.slot) > 0) {
        bar(c, f->made.slot);
        return true;
    }
    bool *before = f->undecided ? &w->doubted : &w->found_wrong;
    if (*before)
        end_run(c, text,
                f->undecided ? "new processes in their places do not agree either"
                             : "it is the only replica, and was found wrong before");
    else
        *before = true;
    return c->state < CSE_COORDINATOR_STOPPING;
}

static void kill_suspect(cse_coordinator *c, int slot)
{
    cse_worker *w = &c->workers[slot];
    if (w->state == CSE_WORKER_VACANT || w->wrong ||
        !(w->barred || c->arena->suspects(c->cluster, slot)))
        return;
    w->wrong = true;
    c->io->signal(c->io->self, slot, SIGKILL);
}

void cse_coordinator_take_findings(cse_coordinator *c)
{
    cse_audit_finding f;
    while (c->arena->next_finding != NULL && c->state < CSE_COORDINATOR_STOPPING &&
           c->arena->next_finding(c->cluster, &f)) {
        cse_text text = { 0 };
        if (c->workers[f.made.slot].found_process == f.made.process)
            continue; /* who told it died, and it was told again */
        c->workers[f.made.slot].found_process = f.made.process;
        describe(c, &f, &text);
        tell(c, &f, text.data);
        if (decide(c, &f, text.data))
            kill_suspect(c, f.made.slot);
        cse_text_clear(&text);
    }
}

void cse_coordinator_leave_vacant(cse_coordinator *c, int slot, const char *cause)
{
    char name[CSE_PROCESS_NAME_BYTES];
    c->workers[slot].restart_ns = c->workers[slot].lost_ns = 0;
    cse_log_line(CSE_LOG_WARNING, "%s %s; its place stays empty, and %d replica%s on",
                 cse_coordinator_name_of(c, slot, name), cause, other_replicas(c, slot),
                 other_replicas(c, slot) == 1 ? " goes" : "s go");
    if (c->state == CSE_COORDINATOR_RUNNING)
        cse_coordinator_settle_phase(c, "a process that was found wrong has left");
}

void cse_coordinator_take_barred(cse_coordinator *c)
{
    for (int s = 0; c->arena->is_barred != NULL && s < c->options.slot_count; s++)
        c->workers[s].barred = c->arena->is_barred(c->cluster, s);
}
