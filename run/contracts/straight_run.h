/* A planned step that is run in one process, one thing after another, without arena and cluster.
 * What the cluster computes must have the same bits. */
#ifndef CSE_RUN_CONTRACTS_STRAIGHT_RUN_H
#define CSE_RUN_CONTRACTS_STRAIGHT_RUN_H

#include "engine/code/execute/execute.h"

typedef struct cse_straight_run {
    cse_executable *executable; /* borrowed */
    unsigned char *spaces[CSE_SPACE_COUNT];
    unsigned char **gradients; /* one for each microbatch */
    uint64_t seed;
    int64_t step;                        /* steps done */
    cse_statistics_collector *collector; /* borrowed; NULL: no statistics are taken */
    int64_t *group_ns; /* borrowed; each group's last time; NULL: groups are not timed */
} cse_straight_run;

/* States start at their initial values for `seed`. */
void cse_straight_run_init(cse_straight_run *run, cse_executable *executable, uint64_t seed);
void cse_straight_run_clear(cse_straight_run *run);

/* The frame of the serial and the update program; the sums are those of the last step. */
cse_frame cse_straight_run_frame(const cse_straight_run *run);

/* One step; `inputs[m]` holds microbatch m in the layout of CSE_SPACE_INPUT. */
void cse_straight_run_step(cse_straight_run *run, unsigned char *const inputs[]);

/* Values of a state or a fetch by name; NULL when there is none. */
void *cse_straight_run_state(const cse_straight_run *run, const char *name);
float cse_straight_run_fetched(const cse_straight_run *run, int index);

#endif
