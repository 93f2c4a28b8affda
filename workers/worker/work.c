/* The loop of a worker: read the step word, do one unit of work that the roles allow, advance the
 * step word when a stage is complete.
 *
 * Nothing blocks inside a unit, so control messages are handled between two of them. After a unit
 * the worker checks whether all words of the stage are done: the process that publishes the last
 * one sees the stage complete. If it dies before it advances the step word, the next process
 * without work does so. The doorbell rings only when the step word advances, and for filled
 * microbatches that somebody waits for: nothing else makes new work. */
#include "workers/worker/work.h"

#include "engine/base/clock.h"
#include "workers/arena/audit.h"
#include "workers/worker/work_residency.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool work_on_stage(cse_work *work, uint64_t step, int roles)
{
    const bool replica = roles & CSE_ROLE_REPLICA, server = roles & CSE_ROLE_WEIGHT_SERVER;
    if (!work->executable || !(replica || server))
        return false;
    if (work->computing)
        return cse_work_compute(work, step);
    cse_work_place_cursors(work, step);
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        if (replica && cse_work_compute(work, step))
            return true;
        break;
    case CSE_STAGE_REDUCE:
        if (server && cse_work_reduce(work, step))
            return true;
        break;
    case CSE_STAGE_NORM:
        if (server && cse_work_norm(work, step))
            return true;
        break;
    case CSE_STAGE_UPDATE:
        if (server && cse_work_update(work, step))
            return true;
        break;
    }
    return !work->computing && cse_work_advance(work, step);
}

static uint32_t events_of(const cse_work *work, int roles)
{
    uint32_t events = CSE_DOORBELL_CONTROL;
    if (roles & CSE_ROLE_WEIGHT_SERVER)
        events |= CSE_DOORBELL_STAGE;
    if (roles & CSE_ROLE_REPLICA)
        events |= CSE_DOORBELL_COMMIT;
    if (roles & CSE_ROLE_INPUT)
        events |= CSE_DOORBELL_FREED;
    if (work->computing)
        events |= CSE_DOORBELL_FILLED;
    return events;
}

/* The span kind of a unit of work at this step word; CSE_SPAN_KIND_COUNT when the roles allow only
 * to advance the step word. */
static cse_span_kind kind_of(const cse_work *work, uint64_t step, int roles)
{
    static const cse_span_kind kinds[] = {
        [CSE_STAGE_COMPUTE] = CSE_SPAN_COMPUTE,
        [CSE_STAGE_REDUCE] = CSE_SPAN_REDUCE,
        [CSE_STAGE_NORM] = CSE_SPAN_WEIGHTS,
        [CSE_STAGE_UPDATE] = CSE_SPAN_UPDATE,
    };
    const int role =
        cse_step_stage(step) == CSE_STAGE_COMPUTE ? CSE_ROLE_REPLICA : CSE_ROLE_WEIGHT_SERVER;
    if (work->computing)
        return CSE_SPAN_COMPUTE;
    return roles & role ? kinds[cse_step_stage(step)] : CSE_SPAN_KIND_COUNT;
}

static void note_span(cse_work *work, int64_t sequence, cse_span_kind kind, int64_t start_ns)
{
    cse_cluster_note_span(
        work->cluster, work->slot, sequence,
        (cse_work_span){ .start_ns = start_ns, .end_ns = cse_clock_ns(), .kind = (int32_t)kind });
}

static bool do_unit(cse_work *work, uint64_t step, int roles)
{
    const int64_t sequence = cse_step_number(step) + 1;
    work->blocked = false;
    work->sampled =
        atomic_load_explicit(&work->cluster->control->sampled, memory_order_relaxed) == sequence;
    const int64_t start_ns = work->sampled ? cse_clock_ns() : 0;
    const cse_span_kind kind = work->sampled ? kind_of(work, step, roles) : CSE_SPAN_WAIT;
    if (work_on_stage(work, step, roles)) {
        if (work->sampled && kind != CSE_SPAN_KIND_COUNT)
            note_span(work, sequence, kind, start_ns);
        return true;
    }
    if (!(roles & CSE_ROLE_INPUT) || !work->source)
        return false;
    if (cse_work_fill(work, step)) {
        if (work->sampled)
            note_span(work, sequence, CSE_SPAN_FILL, start_ns);
        return true;
    }
    work->blocked = work->blocked || !work->executable; /* the ring is full */
    return false;
}

cse_status cse_work_status(const cse_work *work)
{
    return work->status;
}

cse_work_result cse_work_once(cse_work *work)
{
    cse_cluster *cluster = work->cluster;
    cse_slot *own = &cluster->slots[work->slot];
    work->doorbell_seen = atomic_load(cluster->doorbell);
    if (work->status != CSE_OK)
        return CSE_WORK_FAILED;
    uint64_t step = cse_word_load(cluster->step);
    if (atomic_load(&cluster->control->stopping) ||
        cse_step_number(step) >= cluster->head->end_step) {
        cse_work_residency_end(work);
        return CSE_WORK_ENDED;
    }
    const int roles = atomic_load(&own->roles);
    work->incarnation = (int)(atomic_load(&own->who) & 0xff);
    if (cse_audit_suspects(cluster, work->slot)) { /* the coordinator ends this process */
        work->wait_events = CSE_DOORBELL_CONTROL;
        return CSE_WORK_IDLE;
    }
    if (do_unit(work, step, roles))
        return CSE_WORK_DONE;
    if (work->status != CSE_OK) {
        cse_cluster_report_failure(cluster, work->slot, work->status, cse_error_message());
        return CSE_WORK_FAILED;
    }
    work->wait_events = events_of(work, roles);
    return CSE_WORK_IDLE;
}

/* Busy-waits for `spin_ns`; false when no work came. *now_ns becomes the last clock reading, which
 * saves the caller one. */
static bool spin(const cse_work *work, int64_t spin_ns, int64_t *now_ns)
{
    const int64_t until = *now_ns + spin_ns;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(work->cluster->doorbell, memory_order_relaxed) !=
                work->doorbell_seen)
                return true;
            relax();
        }
        *now_ns = cse_clock_ns();
    } while (*now_ns < until);
    return false;
}

void cse_work_wait(cse_work *work, int64_t timeout_ns)
{
    cse_cluster *cluster = work->cluster;
    cse_slot *own = &cluster->slots[work->slot];
    const int64_t spin_ns = cluster->head->spin_ns;
    const int64_t start_ns = cse_clock_ns();
    int64_t now_ns = start_ns;
    /* Only processes that compute spin: others would take cores from them. */
    if (spin_ns <= 0 || !work->executable || !spin(work, spin_ns, &now_ns)) {
        cse_doorbell_wait(cluster, &own->sleeping, work->wait_events, work->doorbell_seen,
                          timeout_ns);
        now_ns = cse_clock_ns();
    }
    atomic_fetch_add_explicit(work->blocked ? &own->blocked_ns : &own->idle_ns, now_ns - start_ns,
                              memory_order_relaxed);
    if (work->sampled)
        note_span(work, atomic_load_explicit(&own->spans_sequence, memory_order_relaxed),
                  CSE_SPAN_WAIT, start_ns);
}
