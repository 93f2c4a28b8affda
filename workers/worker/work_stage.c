/* Claims words of the current stage, and advances the step word when all of them are done. */
#include "engine/base/clock.h"
#include "workers/worker/work_state.h"

static bool words_complete(const cse_word *words, int count, cse_work_cursor *cursor)
{
    while (cursor->complete < count &&
           cse_word_is(cse_word_load(&words[cursor->complete]), CSE_WORD_DONE, cursor->sequence))
        cursor->complete++;
    return cursor->complete == count;
}

int cse_work_take(cse_work *work, cse_word *words, int count, cse_work_cursor *cursor)
{
    assert(cursor->sequence > 0 && cursor->next >= 0 && cursor->next <= count);
    for (int looked = 0; looked < count; looked++) {
        int i = cursor->next;
        cursor->next = i + 1 < count ? i + 1 : 0;
        if (cse_word_claim(&words[i], cursor->sequence, work->slot, work->incarnation))
            return i;
    }
    return -1;
}

/* Each server starts its scan at another chunk, so that servers rarely compete for a word. */
static void place_cursor(cse_work *work, cse_work_cursor *cursor, int64_t sequence, int count)
{
    const cse_arena_head *head = work->cluster->head;
    if (cursor->sequence == sequence)
        return;
    int servers = head->weight_servers > 0 ? head->weight_servers : head->replicas;
    int index = cse_cluster_slot_index(work->cluster, work->slot) % servers;
    *cursor =
        (cse_work_cursor){ .sequence = sequence, .next = (int)((int64_t)index * count / servers) };
}

void cse_work_place_cursors(cse_work *work, uint64_t step)
{
    const int64_t sequence = cse_step_number(step) + 1;
    if (work->node_cursor.sequence != sequence)
        work->node_cursor = (cse_work_cursor){ .sequence = sequence };
    place_cursor(work, &work->reduce_cursor, sequence, work->cluster->head->reduce_chunks);
    place_cursor(work, &work->update_cursor, sequence, work->cluster->head->update_chunks);
}

void cse_work_plan_nodes(cse_work *work, uint64_t step)
{
    const int index = cse_cluster_slot_kind(work->cluster, work->slot) == CSE_ROLE_REPLICA
                          ? cse_cluster_slot_index(work->cluster, work->slot)
                          : 0;
    if (cse_node_plan_make(work->cluster, cse_step_number(step), cse_step_replicas(step), index,
                           &work->plan))
        work->node_cursor.complete = 0;
}

bool cse_work_nodes_complete(cse_work *work, uint64_t step)
{
    cse_work_cursor *cursor = &work->node_cursor;
    cse_work_plan_nodes(work, step);
    if (cse_node_is_done(work->cluster, cse_tree_root(work->cluster->head->microbatches),
                         cse_step_number(step) + 1))
        return true; /* joined by all hosts */
    while (cursor->complete < work->plan.count &&
           cse_node_complete(work->cluster, work->plan.nodes[cursor->complete], cursor->sequence))
        cursor->complete++;
    return cursor->complete == work->plan.count;
}

/* The coordinator's hold may have claimed the word for the next step before anybody saw this one
 * done; it claims it only from DONE. */
static bool norm_complete(const cse_cluster *cluster, int64_t sequence)
{
    const uint64_t word = cse_word_load(cluster->norm);
    return cse_word_is(word, CSE_WORD_DONE, sequence) ||
           (cse_word_is(word, CSE_WORD_CLAIMED, sequence + 1) &&
            cse_word_owner(word) == CSE_OWNER_COORDINATOR);
}

/* On several hosts a step ends when all others have this one's sums of it: they are overwritten in
 * the next one. */
static bool sums_sent(const cse_cluster *cluster, int64_t sequence)
{
    return cluster->hosts == NULL ||
           cse_word_is(cse_word_load(&cluster->hosts->sent), CSE_WORD_DONE, sequence);
}

static bool stage_complete(cse_work *work, uint64_t step)
{
    const cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        return cse_work_nodes_complete(work, step);
    case CSE_STAGE_REDUCE:
        return words_complete(cluster->reduce, head->reduce_chunks, &work->reduce_cursor);
    case CSE_STAGE_NORM:
        return norm_complete(cluster, cse_step_number(step) + 1) &&
               (head->update_chunks > 0 || sums_sent(cluster, cse_step_number(step) + 1));
    case CSE_STAGE_UPDATE:
        return words_complete(cluster->update, head->update_chunks, &work->update_cursor) &&
               sums_sent(cluster, cse_step_number(step) + 1);
    }
    return false;
}

/* The step word that follows a complete stage. Stages without words are skipped. */
static uint64_t next_of(const cse_cluster *cluster, uint64_t step)
{
    const cse_arena_head *head = cluster->head;
    const int64_t sequence = cse_step_number(step);
    const int replicas = cse_step_replicas(step);
    switch (cse_step_stage(step)) {
    case CSE_STAGE_COMPUTE:
        /* A single exact partial sum over all microbatches is the reduced value: skip REDUCE. */
        if (head->exact &&
            cse_word_is(cse_word_load(&cluster->nodes[1]), CSE_WORD_DONE, sequence + 1))
            return cse_step_make(sequence, CSE_STAGE_NORM, replicas, CSE_STEP_SINGLE_PARTIAL_SUM);
        if (head->reduce_chunks > 0)
            return cse_step_make(sequence, CSE_STAGE_REDUCE, replicas, 0);
        return cse_step_make(sequence, CSE_STAGE_NORM, replicas, 0);
    case CSE_STAGE_REDUCE:
        return cse_step_make(sequence, CSE_STAGE_NORM, replicas, 0);
    case CSE_STAGE_NORM:
        if (head->update_chunks > 0)
            return cse_step_make(sequence, CSE_STAGE_UPDATE, replicas, cse_step_flags(step));
        break;
    case CSE_STAGE_UPDATE:
        break;
    }
    return cse_step_make(sequence + 1, CSE_STAGE_COMPUTE, atomic_load(&cluster->control->plan), 0);
}

bool cse_work_advance(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    if (!stage_complete(work, step))
        return false;
    CSE_FAILPOINT(ADVANCE);
    const uint64_t next = next_of(cluster, step);
    const int64_t done = cse_step_number(step);
    /* Before the move: who sees the next stage sees when this one ended. */
    if (cse_step_stage(step) == CSE_STAGE_COMPUTE)
        atomic_store_explicit(&cluster->control->computed_ns, cse_clock_ns(), memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&cluster->step->value, &step, next))
        return true;
    if (cse_step_number(next) == done) {
        cse_doorbell_ring(cluster, CSE_DOORBELL_STAGE);
        return true;
    }
    CSE_FAILPOINT(COMMITTED);
    atomic_store(&cse_arena_record(cluster, done)->committed_ns, cse_clock_ns());
    uint32_t events = CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_RECORD;
    /* Input workers are woken when half the ring is free: each wake-up can preempt a replica. */
    const int64_t laps = cluster->head->ring_count / cluster->head->microbatches;
    if (laps < 4 || (done + 1) % (laps / 2) == 0)
        events |= CSE_DOORBELL_FREED;
    if (cse_step_number(next) >= cluster->head->end_step) {
        /* The end of the run wakes every process, whatever it waits for. */
        atomic_store(&cluster->control->urgent, 1);
        events |= CSE_DOORBELL_URGENT | CSE_DOORBELL_CONTROL;
    }
    cse_doorbell_ring(cluster, events);
    return true;
}
