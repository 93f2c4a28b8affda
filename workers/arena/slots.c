/* Only the coordinator writes these fields. `attach` occupies a slot, recovery vacates it. */
#include "workers/arena/slots.h"

#include <assert.h>

#include "workers/arena/doorbell.h"
#include "workers/arena/layout.h"

static cse_slot *slot_at(const cse_cluster *cluster, int slot)
{
    assert(slot >= 0 && slot < cse_cluster_slot_count(cluster));
    return &cluster->slots[slot];
}

int cse_cluster_slot_count(const cse_cluster *cluster)
{
    return cse_arena_slot_count(cluster->head);
}

cse_role cse_cluster_slot_kind(const cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    if (slot < head->replicas)
        return CSE_ROLE_REPLICA;
    if (slot < head->replicas + head->weight_servers)
        return CSE_ROLE_WEIGHT_SERVER;
    return slot < cse_cluster_slot_count(cluster) - head->movers ? CSE_ROLE_INPUT : CSE_ROLE_MOVER;
}

int cse_cluster_slot_index(const cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    if (slot >= cse_cluster_slot_count(cluster) - head->movers)
        return slot - (cse_cluster_slot_count(cluster) - head->movers);
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
    return atomic_load(&slot_at(cluster, slot)->roles);
}

void cse_cluster_set_roles(cse_cluster *cluster, int slot, int roles)
{
    atomic_store(&slot_at(cluster, slot)->roles, roles);
    cse_doorbell_ring(cluster, CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_CONTROL);
}

void cse_cluster_attach(cse_cluster *cluster, int slot, pid_t pid)
{
    cse_slot *s = slot_at(cluster, slot);
    assert(pid > 0 && cse_cluster_occupant(cluster, slot) == 0);
    uint64_t incarnation = (atomic_load(&s->who) + 1) & 0xff;
    atomic_store(&s->failed, CSE_OK);
    atomic_store(&s->position, 0);
    atomic_store(&s->who, (uint64_t)pid << 32 | incarnation);
}

pid_t cse_cluster_occupant(const cse_cluster *cluster, int slot)
{
    return (pid_t)(atomic_load(&slot_at(cluster, slot)->who) >> 32);
}

void cse_cluster_note_number(cse_cluster *cluster, int slot, int64_t number)
{
    atomic_store(&slot_at(cluster, slot)->number, number);
}

int64_t cse_cluster_number(const cse_cluster *cluster, int slot)
{
    const int64_t noted = atomic_load(&slot_at(cluster, slot)->number);
    const pid_t occupant = cse_cluster_occupant(cluster, slot);
    return occupant > 0 && noted > 0 ? noted : occupant;
}

int cse_cluster_incarnation(const cse_cluster *cluster, int slot)
{
    return (int)(atomic_load(&slot_at(cluster, slot)->who) & 0xff);
}

int64_t cse_cluster_slot_bad_records(const cse_cluster *cluster, int slot)
{
    return atomic_load(&slot_at(cluster, slot)->bad_records);
}

int64_t cse_cluster_slot_position(const cse_cluster *cluster, int slot)
{
    return atomic_load(&slot_at(cluster, slot)->position) - 1;
}
