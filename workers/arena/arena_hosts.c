/* The coordinator writes; workers read the set and the cut whenever they look for work. */
#include "workers/arena/arena_hosts.h"

#include <assert.h>

#include "workers/arena/doorbell.h"
#include "workers/arena/memory.h"
#include "workers/arena/node_plan.h"
#include "workers/arena/state_ranges.h"

cse_status cse_cluster_set_cut(cse_cluster *cluster, const cse_host_cut *cut)
{
    cse_arena_hosts *hosts = cluster->hosts;
    const int64_t step = cse_step_number(cse_word_load(cluster->step));
    const int newest = atomic_load(&hosts->newest);
    assert(cut->first_step > step && cut->host_count == cluster->head->host_count);
    assert(cut->bounds[cut->host_count] == cluster->head->microbatches);
    /* The place of the older one is free once the newer one counts. */
    if (hosts->cuts[newest].first_step > step)
        return cse_fail(CSE_TEMPORARY, "cluster: the cut before, of step %lld on, is still to come",
                        (long long)hosts->cuts[newest].first_step);
    hosts->cuts[1 - newest] = *cut;
    atomic_store(&hosts->newest, 1 - newest);
    CSE_TRY(cse_arena_reserve_partial_sums(cluster, atomic_load(&cluster->control->plan)));
    cse_doorbell_ring(cluster, UINT32_MAX);
    return CSE_OK;
}

cse_status cse_cluster_lose_hosts(cse_cluster *cluster, const cse_host_set *lost)
{
    bool changed = false;
    assert(!cse_hosts_have(lost, cluster->head->host));
    for (int i = 0; i < CSE_HOST_SET_WORDS; i++)
        if (atomic_exchange(&cluster->hosts->lost[i], lost->words[i]) != lost->words[i])
            changed = true;
    if (!changed)
        return CSE_OK;
    cse_doorbell_ring(cluster, UINT32_MAX);
    if (cluster->head->gradient_cut == CSE_GRADIENTS_WHOLE || cse_states_are_lost(cluster))
        return CSE_OK;
    return cse_arena_reserve_partial_sums(cluster, atomic_load(&cluster->control->plan));
}

void cse_cluster_note_host(cse_cluster *cluster, int host, int64_t steps_done)
{
    cse_arena_host *other = &cluster->hosts->hosts[host];
    assert(host >= 0 && host < cluster->head->host_count);
    if (atomic_load(&other->steps_done) >= steps_done)
        return;
    atomic_store(&other->steps_done, steps_done);
    cse_doorbell_ring(cluster, CSE_DOORBELL_MOVE);
}

int64_t cse_cluster_exposed_ns(const cse_cluster *cluster)
{
    return cluster->hosts != NULL ? atomic_load(&cluster->hosts->exposed_ns) : 0;
}

cse_host_traffic cse_cluster_traffic(const cse_cluster *cluster, int host)
{
    const cse_arena_host *of = &cluster->hosts->hosts[host];
    return (cse_host_traffic){ .frames_sent = atomic_load(&of->frames_sent),
                               .frames_received = atomic_load(&of->frames_received),
                               .bytes_sent = atomic_load(&of->bytes_sent),
                               .bytes_received = atomic_load(&of->bytes_received),
                               .connections = atomic_load(&of->connections),
                               .refused =
                                   atomic_load(&of->link_refused) + atomic_load(&of->refused),
                               .retransmits = atomic_load(&of->retransmits) };
}

void cse_cluster_note_traffic(cse_cluster *cluster, int host, const cse_host_traffic *added)
{
    cse_arena_host *of = &cluster->hosts->hosts[host];
    atomic_fetch_add_explicit(&of->frames_sent, added->frames_sent, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->frames_received, added->frames_received, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->bytes_sent, added->bytes_sent, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->bytes_received, added->bytes_received, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->connections, added->connections, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->link_refused, added->refused, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->retransmits, added->retransmits, memory_order_relaxed);
}
