/* How the bytes of an arena in a file that may be in memory are shared out: what is always there
 * (words, records, prefetched input, what is being read for a checkpoint), and as much as is left
 * for each process that computes. */
#ifndef CSE_WORKERS_ARENA_ARENA_BUDGET_H
#define CSE_WORKERS_ARENA_ARENA_BUDGET_H

#include "workers/arena/layout.h"

/* Of one process that computes, in whole blocks. */
int64_t cse_arena_budget(const cse_arena_head *head);

/* Of an arena whose steps go by layers: what a segment should read and make (step_segments.h). */
int64_t cse_arena_segment_bytes(const cse_arena_head *head);

/* The least head->resident_bytes with which each unit of work has its bytes in memory; `*group`:
 * the group that needs most, or -1. */
int64_t cse_arena_least_resident(const cse_graph *graph, const cse_arena_head *head, int *group);

#endif
