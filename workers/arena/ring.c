/* The words start with sequence number 0, "never filled", so the first lap is no special case. */
#include "workers/arena/ring.h"

static cse_word *word_of(cse_cluster *cluster, int64_t q)
{
    assert(q >= 0);
    return &cluster->ring[q % cluster->head->ring_count];
}

/* Whether this host needs the microbatch at position q, or is to give it to another one. */
static bool needed(const cse_cluster *cluster, int64_t q)
{
    const int microbatch = (int)(q % cluster->head->microbatches);
    if (cluster->hosts == NULL)
        return true;
    const cse_host_cut *cut = cse_arena_cut(cluster, q / cluster->head->microbatches);
    const int host = cse_host_cut_of(cut, microbatch);
    return host == cluster->head->host || cse_arena_is_lost(cluster, host) ||
           cse_arena_is_asked(cluster, q);
}

/* Looks at all positions again where another cut, a loss or another host's wish has changed which
 * are needed. */
static void follow_hosts(const cse_cluster *cluster, cse_ring_view *view)
{
    if (cluster->hosts == NULL)
        return;
    const cse_host_set lost = cse_arena_lost(cluster);
    const int64_t cut_step = cse_arena_cut(cluster, INT64_MAX)->first_step;
    const int64_t asks = atomic_load(&cluster->hosts->asks);
    if (!cse_hosts_equal(&view->lost, &lost) || view->cut_step != cut_step || view->asks != asks)
        *view = (cse_ring_view){ .lost = lost, .cut_step = cut_step, .asks = asks };
}

int64_t cse_ring_take(cse_cluster *cluster, cse_ring_view *view, const cse_ring_claim *claim)
{
    const cse_arena_head *head = cluster->head;
    assert(claim->step >= 0 && claim->slot >= 0 && claim->slot < cse_arena_slot_count(head));
    assert(claim->worker < claim->workers || claim->worker < 0);
    const int64_t from = claim->step * head->microbatches;
    const int64_t end = cluster->head->end_step * head->microbatches;
    const int64_t limit = from + head->ring_count < end ? from + head->ring_count : end;
    follow_hosts(cluster, view);
    if (view->filled < from)
        view->filled = from;
    while (view->filled < limit &&
           (cse_ring_ready(cluster, view->filled) || !needed(cluster, view->filled)))
        view->filled++;
    for (int own = claim->worker >= 0; own >= 0; own--)
        for (int64_t q = view->filled; q < limit; q++) {
            if ((own && q % claim->workers != claim->worker) || !needed(cluster, q))
                continue;
            if (cse_word_claim(word_of(cluster, q), q + 1, claim->slot, claim->incarnation))
                return q;
        }
    return -1;
}

void cse_ring_ask(cse_cluster *cluster, int64_t q)
{
    if (cse_arena_is_asked(cluster, q))
        return;
    atomic_store(&cluster->asked[q % cluster->head->ring_count], q + 1);
    atomic_fetch_add(&cluster->hosts->asks, 1);
}

void cse_ring_publish(cse_cluster *cluster, int64_t q)
{
    cse_word_publish(word_of(cluster, q), q + 1, CSE_WORD_DONE);
}

void cse_ring_give_back(cse_cluster *cluster, int64_t q)
{
    cse_word_publish(word_of(cluster, q),
                     cse_word_sequence_before(q + 1, cluster->head->ring_count), CSE_WORD_DONE);
}
