/* The input ring: D places for microbatches on their way from input workers to replicas.
 *
 * Microbatch m of step s has position q = s * M + m in the input stream and lies in place q mod D.
 * Its content is a pure function of q, so it does not matter who fills it. The step word alone
 * frees places: at step s every q with s * M <= q < s * M + D may be filled, consumers write
 * nothing. Input worker w of W takes the positions with q mod W = w first and what others leave
 * open after them. */
#ifndef CSE_WORKERS_ARENA_RING_H
#define CSE_WORKERS_ARENA_RING_H

#include "workers/arena/layout.h"

/* One process's memory of how far the ring is. */
typedef struct cse_ring_view {
    int64_t filled; /* every position below was seen filled */
} cse_ring_view;

/* Whether position q is filled; its bytes may be read until the step of q is committed. */
static inline bool cse_ring_ready(const cse_cluster *cluster, int64_t q)
{
    const cse_word *word = &cluster->ring[q % cluster->head->ring_count];
    return cse_word_is(cse_word_load(word), CSE_WORD_DONE, q + 1);
}

/* Claims a position that may be filled at step `step`; -1 when there is none. `worker` of `workers`
 * has first choice as above; -1 has none. */
typedef struct cse_ring_claim {
    int slot, incarnation;
    int worker, workers;
    int64_t step;
} cse_ring_claim;
int64_t cse_ring_take(cse_cluster *cluster, cse_ring_view *view, const cse_ring_claim *claim);

/* Ends a claim: filled, or given back. */
void cse_ring_publish(cse_cluster *cluster, int64_t q);
void cse_ring_give_back(cse_cluster *cluster, int64_t q);

#endif
