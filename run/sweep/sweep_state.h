/* What is known of a sweep's trials, on disk: a line of JSON for each trial that reached a rung, or
 * failed, written and synchronised before anything else happens. So a sweep that was killed goes on
 * with what is not there yet; a trial that was under way goes on from its checkpoint. While a
 * process trains the sweep it holds an flock on that file, by which others see that it lives. */
#ifndef CSE_RUN_SWEEP_SWEEP_STATE_H
#define CSE_RUN_SWEEP_SWEEP_STATE_H

#include <jansson.h>

#include "run/sweep/sweep_plan.h"

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

/* Opens the state of that folder, which is made. CSE_CONFIG where it is that of another sweep,
 * CSE_TEMPORARY where another process trains it. Close in any case. */
cse_status cse_sweep_state_open(const cse_sweep_plan *plan, const char *folder, cse_arena *arena,
                                cse_sweep_state *state);
void cse_sweep_state_close(cse_sweep_state *state);

/* Notes the result of a trial at a rung. */
cse_status cse_sweep_state_note(cse_sweep_state *state, int trial, const cse_sweep_result *result);

/* Takes a line of the file that tells of a trial; its number, from 0, or -1: it tells of none of
 * the plan's. */
int cse_sweep_state_take(cse_sweep_state *state, const json_t *line);

/* Whether the first is better; one that failed or has no value is the worst. */
bool cse_sweep_is_better(const cse_sweep_plan *plan, const cse_sweep_result *a,
                         const cse_sweep_result *b);
/* The trials that are trained to a rung: all, or the best ones of the rung before, which is
 * complete; in ascending order. Returns how many. */
int cse_sweep_trials_of(const cse_sweep_state *state, int rung, int *trials);

/* All trials that were tried, the best first: those of a later rung stand before those of an
 * earlier one, whose values are of fewer steps. To be freed. */
int *cse_sweep_ordered(const cse_sweep_state *state, int *count);
/* The best trial of the last rung that has one; -1: none has a value. */
int cse_sweep_best(const cse_sweep_state *state);
/* Whether the first stands before the second there. */
bool cse_sweep_leads(const cse_sweep_state *state, int first, int second);

#endif
