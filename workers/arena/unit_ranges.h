/* Which bytes of an arena a unit of work reads and writes: known from the graph, before it runs. */
#ifndef CSE_WORKERS_ARENA_UNIT_RANGES_H
#define CSE_WORKERS_ARENA_UNIT_RANGES_H

#include "engine/graph/graph.h"
#include "workers/arena/reduce.h"
#include "workers/arena/residency.h"

typedef struct cse_ranges {
    cse_byte_range *items;
    int count, capacity;
    cse_node **inputs; /* of the group in hand */
    int input_capacity;
} cse_ranges;

void cse_ranges_clear(cse_ranges *ranges);

/* Where each space begins in the arena; -1: it lies elsewhere. */
typedef struct cse_space_places {
    int64_t at[CSE_SPACE_COUNT];
} cse_space_places;

void cse_ranges_add(cse_ranges *ranges, int64_t first, int64_t bytes, bool written);

/* Of a group of REPLICA or WEIGHTS. */
void cse_group_ranges(const cse_graph *graph, int group, const cse_space_places *places,
                      cse_ranges *ranges);
/* Of lines [lines[0], lines[1]) of an UPDATE group, without the sums that are joined for it. */
void cse_update_ranges(const cse_graph *graph, int group, const int64_t lines[2],
                       const cse_space_places *places, cse_ranges *ranges);
/* Of elements [elements[0], elements[1]) of the partial sum at `place`: rounded ones lie packed. */
void cse_partial_sum_ranges(const cse_segments *segments, int64_t place, const int64_t elements[2],
                            bool written, cse_ranges *ranges);

#endif
