/* A trial of a sweep as the ways of training see it: its settings, and where its result goes. */
#ifndef CSE_CLI_SWEEP_SWEEP_TRIAL_H
#define CSE_CLI_SWEEP_SWEEP_TRIAL_H

#include "cli/client/client.h"
#include "run/sweep/sweep_state.h"

typedef struct cse_sweep_run {
    cse_sweep_state *state;
    cse_client *api; /* of a server; NULL: children of this process */
    void *self;
    void (*on_begin)(void *self, int trial, int rung); /* may be NULL */
    void (*on_result)(void *self, int trial);          /* it is noted; may be NULL */
} cse_sweep_run;

/* "PATH=VALUE" for each parameter, each setting of the plan and the rung's steps, ended by NULL, in
 * `arena`. */
const char **cse_sweep_settings(const cse_sweep_run *run, int trial, int rung, cse_arena *arena);

/* Notes a result and tells it. */
cse_status cse_sweep_note(const cse_sweep_run *run, int trial, const cse_sweep_result *result);

/* Trains one trial up to a rung in a child process, and waits for it. */
cse_status cse_sweep_train_here(const cse_sweep_run *run, int trial, int rung,
                                cse_sweep_result *result);
/* The same of several trials in the queue, which are noted as they end. */
cse_status cse_sweep_train_queued(const cse_sweep_run *run, const int *trials, int count, int rung);

#endif
