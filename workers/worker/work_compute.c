/* COMPUTE: a replica claims one node of the reduction tree at a time, of its own share first, then
 * any that is free, and computes its microbatches from left to right, one per call; or, by layers,
 * a segment of one per call. */
#include "engine/base/clock.h"
#include "workers/arena/audit.h"
#include "workers/worker/work_state.h"

/* Claims the node, or one of its children when recovery has split it. */
static bool claim(cse_work *work, cse_tree_node node, int64_t sequence)
{
    cse_word *word = &work->cluster->nodes[node.heap];
    if (cse_word_claim(word, sequence, work->slot, work->incarnation)) {
        work->node = node;
        return true;
    }
    return node.size > 1 && cse_word_is(cse_word_load(word), CSE_WORD_SPLIT, sequence) &&
           (claim(work, cse_tree_left(node), sequence) ||
            claim(work, cse_tree_right(node), sequence));
}

static bool claim_node(cse_work *work, uint64_t step)
{
    const int64_t sequence = cse_step_number(step) + 1;
    cse_work_plan_nodes(work, step);
    const cse_node_plan *plan = &work->plan;
    for (int i = 0; i < plan->claimable; i++) {
        int at = plan->own_first + i;
        if (claim(work, plan->nodes[at < plan->claimable ? at : at - plan->claimable], sequence))
            return true;
    }
    return false;
}

static bool input_ready(cse_work *work, int64_t q)
{
    bool ready = cse_ring_ready(work->cluster, q);
    if (!ready && work->wait_since_ns == 0)
        work->wait_since_ns = cse_clock_ns();
    if (ready && work->wait_since_ns != 0) {
        /* The part of it in which steps were taken. */
        const int64_t running_ns = atomic_load(&work->cluster->control->running_ns);
        const int64_t from_ns = work->wait_since_ns > running_ns ? work->wait_since_ns : running_ns;
        const int64_t now_ns = cse_clock_ns();
        if (now_ns > from_ns)
            atomic_fetch_add_explicit(&work->cluster->slots[work->slot].input_wait_ns,
                                      now_ns - from_ns, memory_order_relaxed);
        work->wait_since_ns = 0;
    }
    return ready;
}

/* How fast this host computes decides how much it is given. */
static void note_computed(const cse_work *work, int64_t begin_ns)
{
    cse_slot *own = &work->cluster->slots[work->slot];
    if (work->cluster->hosts == NULL)
        return;
    atomic_fetch_add_explicit(&own->computed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->compute_ns, cse_clock_ns() - begin_ns, memory_order_relaxed);
}

/* A part of the gradient that was added already is still as the program left it. */
static void note_gradient(cse_work *work, int microbatch)
{
    const int64_t step = work->frame.step;
    if (cse_audit_takes(work->cluster->head, step, microbatch)) {
        cse_audit_clear(work->cluster, step + 1, microbatch);
        cse_work_audit_note(work, microbatch, work->frame.base[CSE_SPACE_PARTIAL]);
    }
}

/* Others are woken for an audit: they have no other work. */
static void publish(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const int64_t s = cse_step_number(step);
    const bool audited = cse_audit_next(cluster->head, s, work->node, 0) >= 0;
    cse_word_publish(&cluster->nodes[work->node.heap], s + 1,
                     audited ? CSE_WORD_UNCHECKED : CSE_WORD_DONE);
    work->computing = false;
    CSE_FAILPOINT(NODE_PUBLISHED);
    if (audited)
        cse_doorbell_ring(cluster, CSE_DOORBELL_COMMIT);
    else if (cluster->hosts != NULL)
        cse_doorbell_ring(cluster, CSE_DOORBELL_MOVE);
    cse_work_advance(work, step);
}

bool cse_work_compute(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    if (!work->computing) {
        if (!claim_node(work, step))
            return cse_work_audit(work, step);
        work->computing = true;
        work->segment = work->at = 0;
        cse_work_fold_begin(work);
        cse_work_statistics_begin(work, cse_step_number(step));
        CSE_FAILPOINT(NODE_CLAIMED);
    }
    if (cse_work_is_by_layers(work))
        cse_work_enter_segment(work);
    const int gradient = work->node.first + work->sums.added;
    const int64_t q = cse_step_number(step) * head->microbatches + gradient;
    if (!input_ready(work, q))
        return false;
    const int64_t begin_ns = cluster->hosts != NULL ? cse_clock_ns() : 0;
    cse_frame *frame = &work->frame;
    atomic_store_explicit(&cluster->slots[work->slot].position, q + 1, memory_order_relaxed);
    frame->step = cse_step_number(step);
    frame->first_sample = gradient * head->micro_batch_size;
    frame->base[CSE_SPACE_INPUT] = cse_arena_input(cluster, q);
    frame->base[CSE_SPACE_PARTIAL] = cse_work_gradient(work);
    /* States do not change before all nodes of the step are done, so that what depends on them
     * alone is the same for every node that this process computes. */
    frame->prepared = work->prepared == frame->step + 1;
    cse_work_fold_watch(work);
    cse_work_run_program(work, CSE_PART_REPLICA);
    work->prepared = frame->step + 1;
    note_gradient(work, gradient);
    cse_work_fold(work);
    note_computed(work, begin_ns);
    CSE_FAILPOINT(GRADIENT_DONE);
    if (cse_work_is_by_layers(work) ? !cse_work_leave_segment(work)
                                    : work->sums.added < work->node.size)
        return true;
    cse_work_statistics_publish(work, cse_step_number(step));
    CSE_FAILPOINT(NODE_UNPUBLISHED);
    publish(work, step);
    return true;
}
