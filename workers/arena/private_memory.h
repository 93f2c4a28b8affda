/* Memory that each worker has for itself, beside the arena: how much, from the arena's head and the
 * graph, before there is a process. The worker allocates by the same functions. */
#ifndef CSE_WORKERS_ARENA_PRIVATE_MEMORY_H
#define CSE_WORKERS_ARENA_PRIVATE_MEMORY_H

#include "workers/arena/layout.h"

/* Of a process that computes: all partial sums but the first, which is in the arena; and one
 * gradient, where values are rounded (else it is written where its partial sum lies). 0: of an
 * arena in a file, they are there; by layers, see below. */
int64_t cse_private_sums_bytes(const cse_arena_head *head);
/* By layers (step_segments.h): the most that a replica has in memory of the workspaces, gradients
 * and private sums of a node's microbatches. */
int64_t cse_private_layers_bytes(const cse_arena_head *head, const cse_graph *graph);
/* The sums of one update chunk's lines. */
int64_t cse_private_joined_bytes(const cse_arena_head *head);
/* Counts of one node, states of one part that are not stored, and scratch; 0: none are taken. */
int64_t cse_private_statistics_bytes(const cse_arena_head *head, const cse_graph *graph);

enum { CSE_PROPOSED_LINES = 16, CSE_PROPOSED_ELEMENTS = CSE_PROPOSED_LINES * CSE_LINE_ELEMENTS };

/* All of a weight server's, which runs no microbatch; a replica has its workspace and sums, too. */
int64_t cse_private_server_bytes(const cse_arena_head *head, const cse_graph *graph);

#endif
