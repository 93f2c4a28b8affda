/* Rung after rung. */
#include "cli/sweep/sweep_run.h"

#include <stdlib.h>

/* Those of `trials` that have not been tried at the rung. */
static int keep_open(const cse_sweep_state *state, int rung, int *trials, int count)
{
    int open = 0;
    for (int i = 0; i < count; i++)
        if (state->results[trials[i]].rung < rung)
            trials[open++] = trials[i];
    return open;
}

static cse_status train_rung(const cse_sweep_run *run, const int *trials, int count, int rung)
{
    if (run->api != NULL)
        return cse_sweep_train_queued(run, trials, count, rung);
    for (int i = 0; i < count; i++) {
        cse_sweep_result result;
        if (run->on_begin != NULL)
            run->on_begin(run->self, trials[i], rung);
        CSE_TRY(cse_sweep_train_here(run, trials[i], rung, &result));
        CSE_TRY(cse_sweep_note(run, trials[i], &result));
    }
    return CSE_OK;
}

cse_status cse_sweep_run_all(const cse_sweep_run *run)
{
    const cse_sweep_plan *plan = run->state->plan;
    int *trials = malloc((size_t)plan->trials * sizeof *trials);
    cse_status status = trials != NULL ? CSE_OK : cse_fail(CSE_TEMPORARY, "sweep: no memory");
    for (int rung = 0; rung < plan->rungs && status == CSE_OK; rung++) {
        int count = cse_sweep_trials_of(run->state, rung, trials);
        count = keep_open(run->state, rung, trials, count);
        status = train_rung(run, trials, count, rung);
    }
    free(trials);
    return status;
}
