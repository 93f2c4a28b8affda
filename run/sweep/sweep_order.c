/* Trials of a later rung stand before those of an earlier one, whose values are of fewer steps. */
#include <math.h>
#include <stdlib.h>

#include "run/sweep/sweep_state.h"

static int order(const void *left, const void *right, void *self)
{
    const cse_sweep_state *state = self;
    const int a = *(const int *)left, b = *(const int *)right;
    const cse_sweep_result *x = &state->results[a], *y = &state->results[b];
    const int rung_x = x->failed ? -1 : x->rung, rung_y = y->failed ? -1 : y->rung;
    if (rung_x != rung_y)
        return rung_x > rung_y ? -1 : 1;
    if (cse_sweep_is_better(state->plan, x, y))
        return -1;
    return cse_sweep_is_better(state->plan, y, x) ? 1 : a - b;
}

bool cse_sweep_leads(const cse_sweep_state *state, int first, int second)
{
    return order(&first, &second, (void *)(uintptr_t)state) < 0;
}

int *cse_sweep_ordered(const cse_sweep_state *state, int *count)
{
    int *list = malloc((size_t)state->plan->trials * sizeof *list);
    *count = 0;
    for (int i = 0; list != NULL && i < state->plan->trials; i++)
        if (state->results[i].rung >= 0)
            list[(*count)++] = i;
    if (list != NULL)
        qsort_r(list, (size_t)*count, sizeof *list, order, (void *)(uintptr_t)state);
    return list;
}

int cse_sweep_best(const cse_sweep_state *state)
{
    int count;
    int *list = cse_sweep_ordered(state, &count);
    const int best = count > 0 && list != NULL && !state->results[list[0]].failed &&
                             isfinite(state->results[list[0]].value)
                         ? list[0]
                         : -1;
    free(list);
    return best;
}
