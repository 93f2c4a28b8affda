/* What is known of a sweep's trials, on disk: a line of JSON for each trial that reached a rung, or
 * failed, written and synchronised before anything else happens. So a sweep that was killed goes on
 * with what is not there yet; a trial that was under way goes on from its checkpoint. */
#ifndef CSE_CLI_SWEEP_SWEEP_STATE_H
#define CSE_CLI_SWEEP_SWEEP_STATE_H

#include "cli/sweep/sweep_plan.h"

typedef struct cse_sweep_result {
    int rung; /* the last one that was tried; -1: none */
    bool failed;
    double value;        /* of the metric at that rung; NaN: it has none */
    const char *message; /* why it failed; else "" */
} cse_sweep_result;

typedef struct cse_sweep_state {
    const cse_sweep_plan *plan;
    const char *folder;
    cse_arena *arena;
    cse_sweep_result *results; /* [plan->trials] */
    int file;
} cse_sweep_state;

/* Opens the state of that folder, which is made. CSE_CONFIG
 * where it is that of another sweep. Close in any case. */
cse_status cse_sweep_state_open(const cse_sweep_plan *plan, const char *folder, cse_arena *arena,
                                cse_sweep_state *state);
void cse_sweep_state_close(cse_sweep_state *state);

/* Notes the result of a trial at a rung. */
cse_status cse_sweep_state_note(cse_sweep_state *state, int trial, const cse_sweep_result *result);

/* Whether the first is better; one that failed or has no value is the worst. */
bool cse_sweep_is_better(const cse_sweep_plan *plan, const cse_sweep_result *a,
                         const cse_sweep_result *b);
/* The trials that are trained to a rung: all, or the best ones of the rung before, which is
 * complete; in ascending order. Returns how many. */
int cse_sweep_trials_of(const cse_sweep_state *state, int rung, int *trials);

#endif
