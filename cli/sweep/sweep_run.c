/* Rung after rung; and what both ways of training share. */
#include "cli/sweep/sweep_run.h"

#include <stdlib.h>

cse_status cse_sweep_note(const cse_sweep_run *run, int trial, const cse_sweep_result *result)
{
    CSE_TRY(cse_sweep_state_note(run->state, trial, result));
    if (run->on_result != NULL)
        run->on_result(run->self, trial);
    return CSE_OK;
}

const char **cse_sweep_settings(const cse_sweep_run *run, int trial, int rung, cse_arena *arena)
{
    const cse_sweep_plan *plan = run->state->plan;
    int given = 0, count = 0;
    while (plan->settings[given] != NULL)
        given++;
    const char **list =
        cse_arena_alloc(arena, (size_t)(given + plan->parameter_count + 4) * sizeof *list);
    for (; count < given; count++)
        list[count] = plan->settings[count];
    for (int p = 0; p < plan->parameter_count; p++)
        list[count++] = cse_arena_printf(arena, "%s=%s", plan->parameters[p].path,
                                         cse_sweep_value(plan, trial, p, arena));
    if (plan->rung_steps[rung] > 0) {
        list[count++] = "loop.num_steps=null";
        list[count++] = "loop.num_epochs=null";
        list[count++] =
            cse_arena_printf(arena, "loop.max_steps=%lld", (long long)plan->rung_steps[rung]);
    }
    list[count] = NULL;
    return list;
}

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
