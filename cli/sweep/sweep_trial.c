/* Later settings have precedence, so that a rung's steps are the last ones. */
#include "cli/sweep/sweep_trial.h"

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
