/* A training keeps no second copy: values that are not there yet are made in the arena. */
#include "run/execution/fill_states.h"

#include "engine/nn/frozen_copy.h"
#include "engine/nn/update/selective_gradients.h"
#include "engine/nn/update/weight_average.h"
#include "run/execution/standing_arena.h"

/* The values, in the arena unless the session keeps them. */
static cse_status place_state(cse_session *session, const cse_states_filling *filling,
                              cse_state *state, unsigned char *place)
{
    const bool keeps_none = filling->step->training && !state->constant;
    const void *values = place;
    /* In a file, states are written out while they are placed. */
    if (keeps_none && !filling->found && state->values != place &&
        session->opened.cluster.states_directory == NULL) {
        cse_state_move_values(&session->network, state, place);
    } else if (!filling->found) {
        values = cse_state_values(&session->network, state);
        if (values != place)
            CSE_TRY(cse_place_values(session, place, values, cse_state_bytes(state)));
    }
    cse_step_chain_add_state(&session->saving.chain, state->name, values, cse_state_bytes(state));
    if (keeps_none && state->values != NULL)
        cse_state_release_values(state);
    return CSE_OK;
}

cse_status cse_fill_states(cse_session *session, const cse_states_filling *filling,
                           unsigned char *states)
{
    const cse_graph *graph = filling->step->graph;
    if (!filling->found) {
        cse_network_settle_selections(&session->network);
        cse_network_settle_copies(&session->network);
        cse_network_settle_averages(&session->network);
    }
    if (!filling->found && filling->chains)
        cse_step_chain_begin(&session->saving.chain, filling->first_step);
    for (int i = 0; i < graph->state_count; i++)
        CSE_TRY(place_state(session, filling, filling->step->bound[i],
                            states + graph->states[i].offset_bytes));
    cse_step_chain_begun(&session->saving.chain);
    session->network.states_lost = filling->step->training;
    return CSE_OK;
}
