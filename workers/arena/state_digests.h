/* The digests of a step's new states, one for each update chunk, by which two runs, or a run and
 * its replay, are compared without their states.
 *
 * Whoever updates a chunk makes its digest while the states lie in his cache: in the order of the
 * chunk's groups and of the states that each of them assigns. States lie in the same chunks for any
 * number of processes, since chunks follow from the graph alone. A chunk that was left half done is
 * digested by who completes it, as a whole. States that no step changes are in no digest. */
#ifndef CSE_WORKERS_ARENA_STATE_DIGESTS_H
#define CSE_WORKERS_ARENA_STATE_DIGESTS_H

#include "workers/arena/layout.h"
#include "workers/arena/range_digest.h"

/* Of the chunk as it stands. No word of its states can differ alone without another digest. It
 * finds faults; who wants to find states of the same digest can. */
uint64_t cse_chunk_digest(const cse_cluster *cluster, const cse_graph *graph, int chunk);

#endif
