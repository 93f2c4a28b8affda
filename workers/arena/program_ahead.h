/* Groups of a program, announced one after another: what the one that comes uses is in memory
 * before it runs, and what those behind it use is read ahead. */
#ifndef CSE_WORKERS_ARENA_PROGRAM_AHEAD_H
#define CSE_WORKERS_ARENA_PROGRAM_AHEAD_H

#include "workers/arena/residency.h"
#include "workers/arena/unit_ranges.h"

typedef struct cse_program_ahead {
    cse_residency *blocks; /* the caller's */
    cse_ranges ranges;     /* scratch; the caller clears them */
    cse_part part;         /* of the program that runs */
    bool cycles; /* the program runs over and over: behind its last group is its first one */
    int current; /* its group that runs */
    int next; /* the one that is to be read ahead next; with `cycles` counted on behind the end */
} cse_program_ahead;

/* Before `group` of `graph`. `skips_prepared`: groups that run once a step have run. CSE_IO where
 * what it uses cannot be read or written. */
cse_status cse_program_ahead_group(cse_program_ahead *ahead, const cse_graph *graph,
                                   const cse_space_places *places, bool skips_prepared, int group);

#endif
