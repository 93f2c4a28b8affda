/* Filling the input ring: claim a position, let the source write the microbatch, publish it. */
#include "workers/worker/work_state.h"

#include "dataloader/bad_records.h"

bool cse_work_fill(cse_work *work, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const cse_arena_head *head = cluster->head;
    const bool own = cse_cluster_slot_kind(cluster, work->slot) == CSE_ROLE_INPUT;
    const cse_ring_claim claim = {
        .slot = work->slot,
        .incarnation = work->incarnation,
        .worker = own ? cse_cluster_slot_index(cluster, work->slot) : -1,
        .workers = head->input_workers,
        .step = cse_step_number(step),
    };
    int64_t q = cse_ring_take(cluster, &work->ring, &claim);
    if (q < 0)
        return false;
    atomic_store_explicit(&cluster->slots[work->slot].position, q + 1, memory_order_relaxed);
    CSE_FAILPOINT(FILL_CLAIMED);
    const int64_t bad_before = cse_bad_records_total();
    work->status = work->source->read(work->source->self, q / head->microbatches,
                                      q % head->microbatches, cse_arena_input(cluster, q));
    if (cse_bad_records_total() != bad_before)
        atomic_fetch_add_explicit(&cluster->slots[work->slot].bad_records,
                                  cse_bad_records_total() - bad_before, memory_order_relaxed);
    if (work->status != CSE_OK) {
        cse_ring_give_back(cluster, q);
        return false;
    }
    CSE_FAILPOINT(FILL_UNPUBLISHED);
    cse_ring_publish(cluster, q);
    cse_doorbell_ring(cluster, CSE_DOORBELL_FILLED |
                                   (cse_arena_is_asked(cluster, q) ? CSE_DOORBELL_MOVE : 0));
    return true;
}
