/* In which stage each sum over the batch is made from the step's partial sums ("joined").
 *
 * REDUCE joins a prefix of the reduced layout into CSE_SPACE_REDUCED: all that the serial program
 * reads. A sum that only one UPDATE group reads, element by element, is not joined there: the
 * process that updates a range of lines joins just that range into private memory, while it is in
 * cache. The additions are the same, so the bits are; two passes over memory are saved. */
#ifndef CSE_WORKERS_ARENA_SUMS_H
#define CSE_WORKERS_ARENA_SUMS_H

#include "engine/graph/graph.h"

/* Bytes of the reduced layout that REDUCE must join, from its start. */
int64_t cse_sums_joined_bytes(const cse_graph *graph);

/* Offset in the reduced layout of the one sum that UPDATE group `group` reads element by element
 * and that lies after the first `joined_bytes`; -1 when there is none. */
int64_t cse_sums_direct_offset(const cse_graph *graph, int group, int64_t joined_bytes);

#endif
