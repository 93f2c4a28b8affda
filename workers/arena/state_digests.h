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

/* The digest of a step's states: BLAKE2b of those of all chunks. */
enum { CSE_STEP_STATES_BYTES = 16 };
void cse_step_states_digest(const uint64_t *chunks, int64_t count,
                            unsigned char digest[CSE_STEP_STATES_BYTES]);

/* Whether the arena's states, after so many steps, are those of "STEP DIGEST"; of another step they
 * are not compared. CSE_DATA: they are not; CSE_CONFIG: it is no such text. */
cse_status cse_states_check(const cse_cluster *cluster, const cse_graph *graph, int64_t steps,
                            const char *wanted);

#endif
