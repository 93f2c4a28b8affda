/* Tries a set of layers at a level; a set that is not accepted is halved. */
#include "engine/graph/precision/search.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

typedef struct search_state {
    const cse_precision_search *search;
    int *levels, *trial;
    int *candidates; /* layers that are still at level 0 */
    int level;
    int refusable; /* candidates of this level that are not accepted yet */
    int waiting;   /* most calls for the halves that wait at this level */
} search_state;

/* Most calls for a set of `size`: each of its halves down to single layers. */
static int most_calls(int size)
{
    return size > 0 ? 2 * size - 1 : 0;
}

/* After the call for a set of `size`, which may be refused. */
static void tell_most_left(const search_state *state, int size)
{
    const int here = most_calls(size) - 1 + state->waiting;
    if (state->search->most_left != NULL)
        *state->search->most_left = here + (state->level - 1) * most_calls(state->refusable);
}

/* Tries candidates [first, end) at the current level, and halves of them if that is refused. */
static cse_status lower(search_state *state, int first, int end)
{
    const cse_precision_search *search = state->search;
    const size_t bytes = (size_t)search->layer_count * sizeof *state->levels;
    bool within = false;
    if (first == end)
        return CSE_OK;
    memcpy(state->trial, state->levels, bytes);
    for (int i = first; i < end; i++)
        state->trial[state->candidates[i]] = state->level;
    tell_most_left(state, end - first);
    CSE_TRY(search->judge(search->self, state->trial, &within));
    if (within) {
        state->refusable -= end - first;
        memcpy(state->levels, state->trial, bytes);
        return CSE_OK;
    }
    if (end - first == 1)
        return CSE_OK;
    const int middle = first + (end - first) / 2;
    state->waiting += most_calls(end - middle);
    CSE_TRY(lower(state, first, middle));
    state->waiting -= most_calls(end - middle);
    return lower(state, middle, end);
}

cse_status cse_precision_search_run(const cse_precision_search *search, int *levels)
{
    const size_t count = (size_t)search->layer_count + 1;
    search_state state = { .search = search, .levels = levels };
    cse_status status = CSE_OK;
    state.trial = cse_calloc(count, sizeof *state.trial);
    state.candidates = cse_calloc(count, sizeof *state.candidates);
    memset(levels, 0, (count - 1) * sizeof *levels);
    for (state.level = search->level_count - 1; state.level > 0 && status == CSE_OK;
         state.level--) {
        int candidates = 0;
        for (int layer = 0; layer < search->layer_count; layer++)
            if (levels[layer] == 0)
                state.candidates[candidates++] = layer;
        state.refusable = candidates;
        status = lower(&state, 0, candidates);
    }
    free(state.trial);
    free(state.candidates);
    return status;
}
