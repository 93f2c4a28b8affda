/* The coordinator's side of the arena: slots, release, records, liveness, reports. Each word here
 * has one writer, the coordinator; what it changes is announced by ringing the doorbell. */
#include "workers/arena/cluster.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "workers/arena/arena.h"

static void announce(cse_cluster *cluster)
{
    cse_arena_wake(cluster, CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_CONTROL);
}

int cse_cluster_descriptor(const cse_cluster *cluster)
{
    return cluster->descriptor;
}

int cse_cluster_slot_count(const cse_cluster *cluster)
{
    return cse_arena_slot_count(cluster);
}

cse_role cse_cluster_slot_kind(const cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    if (slot < head->replicas)
        return CSE_ROLE_REPLICA;
    return slot < head->replicas + head->weight_servers ? CSE_ROLE_WEIGHT_SERVER : CSE_ROLE_INPUT;
}

int cse_cluster_slot_index(const cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    if (slot >= head->replicas + head->weight_servers)
        return slot - head->replicas - head->weight_servers;
    return slot >= head->replicas ? slot - head->replicas : slot;
}

cse_process cse_cluster_slot_process(const cse_cluster *cluster, int slot)
{
    return (cse_process){ .role = cse_cluster_slot_kind(cluster, slot),
                          .rank = cse_cluster_slot_index(cluster, slot) };
}

const char *cse_cluster_slot_name(const cse_cluster *cluster, int slot, char *text, size_t size)
{
    return cse_process_name(cse_cluster_slot_process(cluster, slot), text, size);
}

int cse_cluster_slot_roles(const cse_cluster *cluster, int slot)
{
    return atomic_load(&cluster->slots[slot].roles);
}

void cse_cluster_set_roles(cse_cluster *cluster, int slot, int roles)
{
    atomic_store(&cluster->slots[slot].roles, roles);
    announce(cluster);
}

void cse_cluster_attach(cse_cluster *cluster, int slot, pid_t pid)
{
    uint64_t incarnation = (atomic_load(&cluster->slots[slot].who) + 1) & 0xff;
    atomic_store(&cluster->slots[slot].failed, CSE_OK);
    atomic_store(&cluster->slots[slot].who, (uint64_t)pid << 32 | incarnation);
}

pid_t cse_cluster_occupant(const cse_cluster *cluster, int slot)
{
    return (pid_t)(atomic_load(&cluster->slots[slot].who) >> 32);
}

cse_status cse_cluster_plan(cse_cluster *cluster, int replica_count)
{
    const int most = cluster->head->microbatches < 255 ? cluster->head->microbatches : 255;
    if (replica_count < 1)
        return cse_fail(CSE_CONFIG, "cluster: %d replicas; at least one is needed", replica_count);
    int plan = replica_count < most ? replica_count : most;
    CSE_TRY(cse_arena_reserve_pieces(cluster, plan));
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

int64_t cse_cluster_hold(cse_cluster *cluster)
{
    uint64_t word = cse_word_load(cluster->norm);
    int64_t number = cse_word_number(word);
    if (cse_word_state_of(word) == CSE_WORD_CLAIMED)
        return cse_word_owner(word) == CSE_OWNER_COORDINATOR ? number - 1 : -1;
    return cse_word_claim(cluster->norm, number + 1, CSE_OWNER_COORDINATOR, 0) ? number : -1;
}

void cse_cluster_unhold(cse_cluster *cluster)
{
    uint64_t word = cse_word_load(cluster->norm);
    if (cse_word_state_of(word) != CSE_WORD_CLAIMED ||
        cse_word_owner(word) != CSE_OWNER_COORDINATOR)
        return;
    cse_word_publish(cluster->norm, cse_word_number(word) - 1, CSE_WORD_DONE);
    announce(cluster);
}

int64_t cse_cluster_steps_done(const cse_cluster *cluster)
{
    return cse_step_number(cse_word_load(cluster->step));
}

const unsigned char *cse_cluster_states_view(const cse_cluster *cluster)
{
    return cse_arena_states(cluster);
}

bool cse_cluster_next_record(cse_cluster *cluster, cse_record *record)
{
    int64_t step = atomic_load(&cluster->control->closed);
    if (cse_cluster_steps_done(cluster) <= step)
        return false;
    const cse_record_slot *slot = cse_arena_record(cluster, step);
    int64_t normed_ns = atomic_load(&slot->normed_ns);
    int64_t committed_ns = atomic_load(&slot->committed_ns);
    /* Whoever commits stores the time afterwards; before that it is of an older step. */
    if (committed_ns < normed_ns)
        committed_ns = cse_clock_ns();
    *record = (cse_record){ .step = step,
                            .fetched = cse_arena_fetched(cluster, step),
                            .committed_ns = committed_ns,
                            .observed = cse_arena_takes_statistics(cluster, step)
                                            ? cse_arena_statistics(cluster, step)
                                            : NULL };
    return true;
}

void cse_cluster_close_record(cse_cluster *cluster)
{
    int64_t closed = atomic_load(&cluster->control->closed) + 1;
    atomic_store(&cluster->control->closed, closed);
    /* Workers wait for it only when every record was taken. */
    if (cse_cluster_steps_done(cluster) >= closed - 1 + cluster->head->record_count)
        announce(cluster);
}

void cse_cluster_set_end(cse_cluster *cluster, int64_t end_step)
{
    atomic_store(&cluster->control->end, end_step);
    announce(cluster);
}

void cse_cluster_stop(cse_cluster *cluster)
{
    atomic_store(&cluster->control->stopping, 1);
    cse_arena_wake(cluster, UINT32_MAX);
}

void cse_cluster_wait(cse_cluster *cluster, int wake, int64_t timeout_ns)
{
    uint32_t events = 0;
    if (wake & CSE_WAKE_RECORD)
        events |= CSE_DOORBELL_RECORD;
    if (wake & CSE_WAKE_URGENT)
        events |= CSE_DOORBELL_URGENT;
    uint32_t seen = atomic_load(cluster->doorbell);
    bool waiting_record = (wake & CSE_WAKE_RECORD) &&
                          cse_cluster_steps_done(cluster) > atomic_load(&cluster->control->closed);
    bool urgent = (wake & CSE_WAKE_URGENT) && atomic_exchange(&cluster->control->urgent, 0);
    if (waiting_record || urgent)
        return;
    cse_arena_sleep(cluster, &cluster->control->sleeping, events, seen, timeout_ns);
}

uint32_t cse_cluster_ask(cse_cluster *cluster)
{
    uint32_t question = atomic_fetch_add(&cluster->control->survey, 1) + 1;
    cse_arena_wake(cluster, CSE_DOORBELL_CONTROL);
    return question;
}

uint32_t cse_cluster_answered(const cse_cluster *cluster, int slot)
{
    return atomic_load(&cluster->slots[slot].answered);
}

void cse_cluster_report_failure(cse_cluster *cluster, int slot, cse_status status,
                                const char *message)
{
    cse_slot *own = &cluster->slots[slot];
    size_t size = strnlen(message, sizeof own->failure - 1);
    memcpy(own->failure, message, size);
    own->failure[size] = 0;
    atomic_store(&own->failed, (int32_t)status);
    atomic_store(&cluster->control->urgent, 1);
    cse_arena_wake(cluster, CSE_DOORBELL_URGENT);
}

cse_status cse_cluster_failure(const cse_cluster *cluster, int slot,
                               char text[CSE_FAILURE_TEXT_BYTES])
{
    const cse_slot *other = &cluster->slots[slot];
    int32_t status = atomic_load(&other->failed);
    text[0] = 0;
    if (status == CSE_OK)
        return CSE_OK;
    memcpy(text, other->failure, sizeof other->failure);
    text[sizeof other->failure - 1] = 0;
    /* A value that no status has comes from a worker gone wild. */
    return status > 0 && status <= CSE_INTERRUPTED ? (cse_status)status : CSE_INTERNAL;
}

int64_t cse_cluster_input_wait_ns(const cse_cluster *cluster)
{
    int64_t total = 0;
    for (int i = 0; i < cse_arena_slot_count(cluster); i++)
        total += atomic_load(&cluster->slots[i].input_wait_ns);
    return total;
}

static void dump_words(const cse_word *words, int count, int64_t number, const char *what,
                       cse_text *out)
{
    static const char *const states[] = { "done", "split", "claimed" };
    for (int i = 0; i < count; i++) {
        uint64_t word = cse_word_load(&words[i]);
        if (cse_word_is(word, CSE_WORD_DONE, number) ||
            (number == 0 && cse_word_state_of(word) != CSE_WORD_CLAIMED))
            continue;
        unsigned state = cse_word_state_of(word);
        cse_text_add(out, "  %s %d: %s, number %lld, owner %d, incarnation %d\n", what, i,
                     state < 3 ? states[state] : "unknown", (long long)cse_word_number(word),
                     cse_word_owner(word), (int)(word & 0xff));
    }
}

void cse_cluster_dump(const cse_cluster *cluster, cse_text *out)
{
    static const char *const stages[] = { "compute", "reduce", "norm", "update" };
    const cse_arena_head *head = cluster->head;
    const cse_control *control = cluster->control;
    uint64_t step = cse_word_load(cluster->step);
    int64_t number = cse_step_number(step) + 1;
    cse_stage stage = cse_step_stage(step);
    char name[32];
    cse_text_add(out, "step %lld, stage %s, %d replicas; released %lld, closed %lld, end %lld%s\n",
                 (long long)cse_step_number(step), (unsigned)stage < 4 ? stages[stage] : "unknown",
                 cse_step_replicas(step), (long long)atomic_load(&control->released),
                 (long long)atomic_load(&control->closed), (long long)atomic_load(&control->end),
                 atomic_load(&control->stopping) ? ", stopping" : "");
    for (int i = 0; i < cse_arena_slot_count(cluster); i++)
        cse_text_add(out, "  slot %d (%s): process %d, roles %d, waits for %u\n", i,
                     cse_cluster_slot_name(cluster, i, name, sizeof name),
                     (int)cse_cluster_occupant(cluster, i), cse_cluster_slot_roles(cluster, i),
                     (unsigned)atomic_load(&cluster->slots[i].sleeping));
    if (stage == CSE_STAGE_COMPUTE)
        dump_words(cluster->nodes, head->tree_places, number, "node", out);
    if (stage == CSE_STAGE_REDUCE)
        dump_words(cluster->reduce, head->reduce_chunks, number, "reduce", out);
    if (stage == CSE_STAGE_NORM)
        dump_words(cluster->norm, 1, number, "norm", out);
    if (stage == CSE_STAGE_UPDATE)
        dump_words(cluster->update, head->update_chunks, number, "update", out);
    dump_words(cluster->ring, head->ring_count, 0, "ring", out);
}
