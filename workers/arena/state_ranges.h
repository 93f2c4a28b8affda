/* States that are cut over the hosts of a run: which bytes of them belong to each update chunk.
 *
 * A chunk's owners (workers/hosts/state_cut.h) alone change its states. What the forward and the
 * backward pass or the serial program read of them, the weights, they send to all other hosts after
 * each update. What UPDATE alone reads, as the moments of an optimizer, nobody else needs: an arena
 * has no memory for those of other hosts' chunks, although each state has the same place in all of
 * them.
 *
 * All follows from the graph, and stands in the arena as a table, since a mover has no graph. */
#ifndef CSE_WORKERS_ARENA_STATE_RANGES_H
#define CSE_WORKERS_ARENA_STATE_RANGES_H

#include "workers/arena/layout.h"
#include "workers/arena/residency.h"
#include "workers/hosts/state_cut.h"

/* Which bytes of a chunk are meant. */
typedef enum cse_state_share {
    CSE_STATES_SHARED, /* that all hosts have */
    CSE_STATES_OWN,    /* that its owners alone have */
    CSE_STATE_SHARES
} cse_state_share;

/* The ranges of all chunks, those of one chunk and share one behind the other. `items`: NULL, or
 * head->state_range_count. `chunks`: NULL, or head->update_chunks. Returns how many there are. */
int cse_state_ranges_find(const cse_graph *graph, const cse_arena_head *head,
                          cse_state_range *items, cse_state_chunk *chunks);

/* Bytes of CSE_SPACE_STATE that a host has no use for: *spans, to be freed, in ascending order.
 * `owners`: hosts of the cut. Returns how many spans there are. */
int cse_absent_states(const cse_graph *graph, const cse_arena_head *head,
                      const cse_host_set *owners, int host, cse_byte_range **spans);

/* Whether a host is one of the chunk's, in a cut over `owners`. */
bool cse_chunk_is_of(const cse_arena_head *head, const cse_host_set *owners, int host, int chunk);

static inline bool cse_states_are_cut(const cse_cluster *cluster)
{
    return cluster->head->state_copies > 0;
}

/* Whether this host updates the chunk, as all do where states are not cut. */
bool cse_chunk_is_kept(const cse_cluster *cluster, int chunk);
/* The first of its owners that is not lost; -1: it is lost. */
int cse_chunk_sender(const cse_cluster *cluster, int chunk);
bool cse_chunk_has_owner(const cse_cluster *cluster, int chunk, int host);
/* Whether a chunk has no owner left. */
bool cse_states_are_lost(const cse_cluster *cluster);

/* Whether the states may change in step `step`: on hosts that do not lead, when the leading one
 * begins to change its own. Until then it may want the parts of all others, for a checkpoint. */
bool cse_states_may_change(const cse_cluster *cluster, int64_t step);

int64_t cse_chunk_bytes(const cse_cluster *cluster, int chunk, cse_state_share share);
/* Bytes [range[0], range[1]) of the chunk's ranges, as if they lay one behind the other. */
void cse_chunk_take(const cse_cluster *cluster, int chunk, cse_state_share share,
                    const int64_t range[2], unsigned char *bytes);
void cse_chunk_put(const cse_cluster *cluster, int chunk, cse_state_share share,
                   const int64_t range[2], const unsigned char *bytes);
/* A digest of what all hosts have of the chunk. */
uint64_t cse_shared_digest(const cse_cluster *cluster, int chunk);

#endif
