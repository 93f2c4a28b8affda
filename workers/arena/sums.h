/* Which sums over the batch are joined where.
 *
 * REDUCE joins a prefix of the reduced layout into CSE_SPACE_REDUCED: all that the serial program
 * reads. A sum that one UPDATE group alone reads, element by element, is not joined there: whoever
 * updates a range of lines joins just that range into memory of its own, while it is in cache. The
 * bits are the same, since the joins are; two passes over memory are saved. */
#ifndef CSE_WORKERS_ARENA_SUMS_H
#define CSE_WORKERS_ARENA_SUMS_H

#include "engine/graph/graph.h"

/* Bytes of the reduced layout that REDUCE must join, from its start. */
int64_t cse_sums_joined_bytes(const cse_graph *graph);

/* Offset in the reduced layout of the one sum that UPDATE group `group` reads element by element
 * and that lies behind `joined_bytes`; -1 when it reads none there. */
int64_t cse_sums_direct_offset(const cse_graph *graph, int group, int64_t joined_bytes);

#endif
