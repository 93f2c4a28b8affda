/* The coordinator's calls, in the order of its header; recovery and the dump have files of their
 * own. */
#include "workers/arena/coordinator_side.h"

#include <assert.h>
#include <string.h>

#include "engine/base/clock.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/layout.h"
#include "workers/arena/state_gather.h"

static void announce(cse_cluster *cluster)
{
    cse_doorbell_ring(cluster, CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_CONTROL);
}

cse_status cse_cluster_plan(cse_cluster *cluster, int replica_count)
{
    const int most = cluster->head->microbatches < 255 ? cluster->head->microbatches : 255;
    if (replica_count < 1)
        return cse_fail(CSE_CONFIG, "cluster: %d replicas; at least one is needed", replica_count);
    int plan = replica_count < most ? replica_count : most;
    CSE_TRY(cse_arena_reserve_partial_sums(cluster, plan));
    atomic_store(&cluster->control->plan, plan);
    return CSE_OK;
}

void cse_cluster_release(cse_cluster *cluster, int64_t steps)
{
    if (steps <= atomic_load(&cluster->control->released))
        return;
    atomic_store(&cluster->control->released, steps);
    announce(cluster);
}

int64_t cse_cluster_released(const cse_cluster *cluster)
{
    return atomic_load(&cluster->control->released);
}

int64_t cse_cluster_freed(const cse_cluster *cluster)
{
    return atomic_load(&cluster->control->closed);
}

int64_t cse_cluster_hold(cse_cluster *cluster)
{
    uint64_t word = cse_word_load(cluster->norm);
    int64_t sequence = cse_word_sequence(word);
    if (cse_word_state_of(word) == CSE_WORD_CLAIMED)
        return cse_word_owner(word) == CSE_OWNER_COORDINATOR ? sequence - 1 : -1;
    return cse_word_claim(cluster->norm, sequence + 1, CSE_OWNER_COORDINATOR, 0) ? sequence : -1;
}

void cse_cluster_unhold(cse_cluster *cluster)
{
    uint64_t word = cse_word_load(cluster->norm);
    if (cse_word_state_of(word) != CSE_WORD_CLAIMED ||
        cse_word_owner(word) != CSE_OWNER_COORDINATOR)
        return;
    cse_word_publish(cluster->norm, cse_word_sequence(word) - 1, CSE_WORD_DONE);
    announce(cluster);
}

int64_t cse_cluster_steps_done(const cse_cluster *cluster)
{
    return cse_step_number(cse_word_load(cluster->step));
}

const unsigned char *cse_cluster_states_view(const cse_cluster *cluster)
{
    const unsigned char *gathered =
        cse_cluster_gathered_view(cluster, cse_cluster_steps_done(cluster));
    return gathered != NULL ? gathered : cse_arena_states(cluster);
}

bool cse_cluster_has_states(const cse_cluster *cluster, const void *values)
{
    const uintptr_t at = (uintptr_t)values, first = (uintptr_t)cse_arena_states(cluster);
    return (at >= first && at - first < (uintptr_t)cluster->head->state_bytes) ||
           cse_cluster_has_gathered(cluster, values);
}

unsigned char *cse_cluster_initial_states(cse_cluster *cluster)
{
    return cse_arena_states(cluster);
}

static cse_step_times times_of(const cse_cluster *cluster, const cse_record_slot *slot)
{
    return (cse_step_times){ .computed_ns = atomic_load(&slot->computed_ns),
                             .held_from_ns = atomic_load(&slot->held_from_ns),
                             .held_until_ns = atomic_load(&slot->held_until_ns),
                             .input_wait_ns =
                                 cse_cluster_input_wait_ns(cluster) - cluster->waited_before_ns,
                             .exposed_ns =
                                 cse_cluster_exposed_ns(cluster) - cluster->exposed_before_ns,
                             .replicas = cse_step_replicas(cse_word_load(cluster->step)) };
}

static void add_digests(const cse_cluster *cluster, cse_record *record)
{
    if (cluster->head->digest_count == 0)
        return;
    const cse_chain_place *before = cse_arena_chain(cluster, record->step);
    record->state_digests = cse_arena_state_digests(cluster, record->step);
    record->state_digest_count = cluster->head->digest_count;
    record->chain_before = atomic_load(&before->sequence) == record->step + 1 ? before : NULL;
    record->chain = cse_arena_chain(cluster, record->step + 1);
}

void cse_cluster_begin_chain(cse_cluster *cluster, int64_t steps, const unsigned char *chain)
{
    if (cluster->head->chain_count == 0)
        return;
    cse_chain_place *place = cse_arena_chain(cluster, steps);
    atomic_store(&place->sequence, 0);
    memcpy(place->chain, chain, sizeof place->chain);
    atomic_store(&place->sequence, steps + 1);
}

bool cse_cluster_next_record(cse_cluster *cluster, cse_record *record)
{
    const int64_t step = cluster->read;
    if (cse_cluster_steps_done(cluster) <= step)
        return false;
    const cse_record_slot *slot = cse_arena_record(cluster, step);
    int64_t norm_done_ns = atomic_load(&slot->norm_done_ns);
    int64_t committed_ns = atomic_load(&slot->committed_ns);
    /* The time is stored after the commit; until then it is that of an older step. */
    if (committed_ns < norm_done_ns)
        committed_ns = cse_clock_ns();
    *record = (cse_record){ .step = step,
                            .fetched = cse_arena_fetched(cluster, step),
                            .committed_ns = committed_ns,
                            .states_digest = atomic_load(&slot->states_digest),
                            .times = times_of(cluster, slot),
                            .statistics = cse_arena_takes_statistics(cluster, step)
                                              ? cse_arena_statistics(cluster, step)
                                              : NULL };
    add_digests(cluster, record);
    return true;
}

void cse_cluster_close_record(cse_cluster *cluster)
{
    cluster->read++;
    assert(cluster->read <= cse_cluster_steps_done(cluster));
}

void cse_cluster_free_records(cse_cluster *cluster, int64_t steps)
{
    const int64_t before = atomic_load(&cluster->control->closed);
    assert(steps <= cluster->read);
    if (steps <= before)
        return;
    atomic_store(&cluster->control->closed, steps);
    /* Workers wait for a record's place only when all places were in use. */
    if (cse_cluster_steps_done(cluster) >= before + cluster->head->record_count)
        announce(cluster);
}

bool cse_cluster_lacks_places(const cse_cluster *cluster)
{
    return cse_cluster_steps_done(cluster) - atomic_load(&cluster->control->closed) >=
           cluster->head->record_count / 2;
}

void cse_cluster_stop(cse_cluster *cluster)
{
    atomic_store(&cluster->control->stopping, 1);
    cse_doorbell_ring(cluster, UINT32_MAX);
}

void cse_cluster_wait(cse_cluster *cluster, int wake, int64_t timeout_ns)
{
    uint32_t events = 0;
    if (wake & CSE_WAKE_RECORD)
        events |= CSE_DOORBELL_RECORD;
    if (wake & CSE_WAKE_URGENT)
        events |= CSE_DOORBELL_URGENT;
    uint32_t seen = atomic_load(cluster->doorbell);
    bool waiting_record =
        (wake & CSE_WAKE_RECORD) && cse_cluster_steps_done(cluster) > cluster->read;
    bool urgent = (wake & CSE_WAKE_URGENT) && atomic_exchange(&cluster->control->urgent, 0);
    if (waiting_record || urgent)
        return;
    cse_doorbell_wait(cluster, &cluster->control->sleeping, events, seen, timeout_ns);
}

cse_status cse_cluster_failure(const cse_cluster *cluster, int slot,
                               char text[CSE_FAILURE_TEXT_BYTES])
{
    assert(slot >= 0 && slot < cse_cluster_slot_count(cluster));
    const cse_slot *other = &cluster->slots[slot];
    int32_t status = atomic_load(&other->failed);
    text[0] = 0;
    if (status == CSE_OK)
        return CSE_OK;
    memcpy(text, other->failure, sizeof other->failure);
    text[sizeof other->failure - 1] = 0;
    /* Another value is no status: the worker overwrote its own slot. */
    return status > 0 && status <= CSE_INTERRUPTED ? (cse_status)status : CSE_INTERNAL;
}

void cse_cluster_count_waits(cse_cluster *cluster)
{
    atomic_store(&cluster->control->running_ns, cse_clock_ns());
    cluster->waited_before_ns = cse_cluster_input_wait_ns(cluster);
    cluster->exposed_before_ns = cse_cluster_exposed_ns(cluster);
}

int64_t cse_cluster_input_wait_ns(const cse_cluster *cluster)
{
    int64_t total = 0;
    for (int i = 0; i < cse_cluster_slot_count(cluster); i++)
        total += atomic_load(&cluster->slots[i].input_wait_ns);
    return total;
}
