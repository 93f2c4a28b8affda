/* Lost workers are replaced: at once the first time, after a growing pause when losses follow each
 * other closely.
 *
 * Each slot has a budget of its own. A process that was ready while a step was committed has done
 * its part, so only losses in a row without a step between them count against the budget: a worker
 * that can never start, or that dies of the same step again and again, ends the run, while any
 * number of deaths between which training gets on does not. The pauses are forgiven when a process
 * has lived ten times as long as the last one. */
#include <signal.h>
#include <stdio.h>

#include "engine/base/log.h"
#include "workers/control/coordinator_state.h"

#define MILLISECONDS INT64_C(1000000)
#define SECONDS INT64_C(1000000000)

enum {
    /* Of processes that end themselves before one of the slot was ever ready: a library is missing,
     * the machine cannot run the code. */
    MOST_FRUITLESS_STARTS = 3,
};

static int64_t pause_after(int losses)
{
    static const int64_t pauses_ms[] = { 0, 100, 400, 1600, 6400, 25600, 30000 };
    const int last = (int)(sizeof pauses_ms / sizeof pauses_ms[0]) - 1;
    return pauses_ms[losses - 1 < last ? losses - 1 : last] * MILLISECONDS;
}

/* Counts a loss by what the process had done. */
static void count_loss(cse_coordinator *c, cse_worker *w)
{
    const bool was_ready = w->ready_ns != 0;
    const int64_t lived_ns = was_ready ? cse_coordinator_now_ns(c) - w->ready_ns : 0;
    const bool fruitful = was_ready && (c->arena->steps_done(c->cluster) > w->ready_steps ||
                                        lived_ns >= 60 * SECONDS);
    if (fruitful)
        w->fruitless = 0;
    if (fruitful && lived_ns >= SECONDS && lived_ns >= 10 * w->pause_ns)
        w->losses = 0;
    w->losses++;
    w->fruitless++;
}

/* Where the run stands: "in step 5". */
static const char *where(const cse_coordinator *c, char *text, size_t size)
{
    if (c->state == CSE_COORDINATOR_STARTING)
        snprintf(text, size, "before the run began");
    else
        snprintf(text, size, "in step %lld", (long long)c->arena->steps_done(c->cluster));
    return text;
}

static void give_up(cse_coordinator *c, int slot, const char *cause)
{
    const cse_worker *w = &c->workers[slot];
    char name[CSE_PROCESS_NAME_BYTES], place[64];
    cse_coordinator_fail(
        c, cse_fail(CSE_UNAVAILABLE,
                    "%s %s %s, as the %d before it, without a step between them; see the messages "
                    "above and the kernel's (out of memory?), then start again to go on from the "
                    "last checkpoint",
                    cse_coordinator_name_of(c, slot, name), cause, where(c, place, sizeof place),
                    w->fruitless - 1));
}

/* What is known of the slot's losses stays. A lack of memory or processes counts as a loss: it may
 * be over at the next attempt. */
void cse_coordinator_start_worker(cse_coordinator *c, int slot)
{
    cse_worker *w = &c->workers[slot];
    w->state = CSE_WORKER_STARTED;
    w->incarnation++;
    w->started_ns = cse_coordinator_now_ns(c);
    w->ready_ns = w->restart_ns = 0;
    w->frozen = w->late = w->wrong = false;
    cse_status status = c->io->start(c->io->self, slot, w->incarnation);
    if (status == CSE_OK)
        return;
    w->state = CSE_WORKER_VACANT;
    char name[CSE_PROCESS_NAME_BYTES], cause[CSE_CAUSE_BYTES];
    if (status == CSE_TEMPORARY) {
        w->incarnation--;
        snprintf(cause, sizeof cause, "cannot be started: %s", cse_error_message());
        cse_coordinator_replace(c, slot, cause, false);
        return;
    }
    cse_coordinator_fail(c, cse_fail_within(status, "%s cannot be started: ",
                                            cse_coordinator_name_of(c, slot, name)));
}

void cse_coordinator_replace(cse_coordinator *c, int slot, const char *cause, bool ended_itself)
{
    cse_worker *w = &c->workers[slot];
    char name[CSE_PROCESS_NAME_BYTES], place[64], line[CSE_CAUSE_BYTES + 256];
    int64_t now = cse_coordinator_now_ns(c);
    int budget = c->options.restarts;
    count_loss(c, w);
    if (ended_itself && !w->was_ready && budget > MOST_FRUITLESS_STARTS)
        budget = MOST_FRUITLESS_STARTS;
    if (w->fruitless > budget) {
        give_up(c, slot, cause);
        return;
    }
    if (w->lost_ns == 0)
        w->lost_ns = now;
    snprintf(w->lost_cause, sizeof w->lost_cause, "%s", cause);
    w->pause_ns = pause_after(w->losses);
    w->restart_ns = now + w->pause_ns;
    cse_coordinator_name_of(c, slot, name);
    where(c, place, sizeof place);
    if (w->pause_ns == 0)
        snprintf(line, sizeof line, "%s %s %s; a new process takes its place", name, cause, place);
    else
        snprintf(line, sizeof line, "%s %s %s; a new process takes its place in %.1f s", name,
                 cause, place, (double)w->pause_ns * 1e-9);
    cse_log_line(CSE_LOG_WARNING, "%s", line);
    if (w->pause_ns == 0)
        cse_coordinator_start_worker(c, slot);
    if (c->state == CSE_COORDINATOR_RUNNING && !c->paused && !c->stop_wanted)
        cse_coordinator_set_phase(c, CSE_PHASE_RECOVERING, line);
}

void cse_coordinator_restart_due(cse_coordinator *c)
{
    int64_t now = cse_coordinator_now_ns(c);
    for (int s = 0; s < c->options.slot_count && c->state < CSE_COORDINATOR_STOPPING; s++) {
        const cse_worker *w = &c->workers[s];
        if (w->state == CSE_WORKER_VACANT && w->restart_ns != 0 && now >= w->restart_ns)
            cse_coordinator_start_worker(c, s);
    }
}

void cse_coordinator_kill_late_workers(cse_coordinator *c)
{
    int64_t now = cse_coordinator_now_ns(c);
    for (int s = 0; s < c->options.slot_count; s++) {
        cse_worker *w = &c->workers[s];
        int64_t limit = w->state == CSE_WORKER_STARTED ? c->options.join_timeout_ns
                                                       : c->options.start_timeout_ns;
        if (w->state == CSE_WORKER_VACANT || w->state == CSE_WORKER_READY || w->late ||
            now - w->started_ns < limit)
            continue;
        w->late = true;
        c->io->signal(c->io->self, s, SIGKILL);
    }
}
