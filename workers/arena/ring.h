/* The input ring: a queue of D microbatches between input workers and replicas.
 *
 * Microbatch m of step s has position q = s * M + m in the input stream and lies in place q mod D.
 * Its content is a pure function of q, so any process may fill it. Places are freed by the
 * step word alone: at step s every q with s * M <= q < s * M + D may be filled; consumers write
 * nothing. Input worker w of W first takes the positions with q mod W = w, then any that others
 * have not claimed. On several hosts, each fills the positions of its own microbatches, those of
 * hosts that are lost, and those that hosts without data have asked for; there, the mover fills
 * what it gets from others. */
#ifndef CSE_WORKERS_ARENA_RING_H
#define CSE_WORKERS_ARENA_RING_H

#include "workers/arena/layout.h"

/* How far one process has seen the ring filled. */
typedef struct cse_ring_view {
    int64_t filled; /* all positions below are filled, or not of this host */
    /* What made them so: the hosts that are lost, the newest cut, what others have asked for. */
    cse_host_set lost;
    int64_t cut_step, asks;
} cse_ring_view;

/* Whether position q is filled; its bytes may be read until the step of q is committed. */
static inline bool cse_ring_ready(const cse_cluster *cluster, int64_t q)
{
    const cse_word *word = &cluster->ring[q % cluster->head->ring_count];
    return cse_word_is(cse_word_load(word), CSE_WORD_DONE, q + 1);
}

/* Claims a position that may be filled at step `step`; -1 when there is none. `worker` of `workers`
 * prefers positions as above; -1 prefers none. */
typedef struct cse_ring_claim {
    int slot, incarnation;
    int worker, workers;
    int64_t step;
} cse_ring_claim;
int64_t cse_ring_take(cse_cluster *cluster, cse_ring_view *view, const cse_ring_claim *claim);

/* Another host asks for a position that may be filled now: it is needed from here on. */
void cse_ring_ask(cse_cluster *cluster, int64_t q);

/* Ends a claim: filled, or given back. */
void cse_ring_publish(cse_cluster *cluster, int64_t q);
void cse_ring_give_back(cse_cluster *cluster, int64_t q);

#endif
