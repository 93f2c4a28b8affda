/* A training keeps no second copy: values that are not there yet are made in the arena. */
#include "run/execution/fill_states.h"

#include <string.h>

#include "engine/base/pages.h"
#include "engine/code/execute/execute.h"
#include "engine/nn/frozen_copy.h"
#include "engine/nn/update/selective_gradients.h"
#include "engine/nn/update/weight_average.h"
#include "run/saving/weights_link.h"
#include "run/saving/weights_sources.h"
#include "workers/arena/range_digest.h"

static bool keeps_none(const cse_states_filling *filling, const cse_state *state)
{
    return filling->step->training && !state->constant;
}

/* ---- in memory ---- */

/* Zeros are there, and memory that nobody has touched. */
static cse_status make_room(const cse_states_filling *filling, const cse_state *state,
                            unsigned char *place)
{
    const size_t bytes = cse_state_bytes(state);
    const bool are_zeros = keeps_none(filling, state) && cse_state_is_initial(state) &&
                           cse_initial_zeros(&state->initializer);
    const int error = are_zeros || state->values == place ? 0 : cse_pages_make(place, bytes);
    if (error == 0)
        return CSE_OK;
    return cse_fail(CSE_TEMPORARY, "cluster: no shared memory for another %zu bytes: %s", bytes,
                    strerror(error));
}

/* The values, in the arena unless the session keeps them; NULL: zeros, which nobody has touched. */
static cse_status place_in_memory(cse_session *session, const cse_states_filling *filling,
                                  cse_state *state, unsigned char *place)
{
    const size_t bytes = cse_state_bytes(state);
    const void *values = place;
    if (!filling->found)
        CSE_TRY(make_room(filling, state, place));
    if (keeps_none(filling, state) && !filling->found && state->source != NULL) {
        CSE_TRY(cse_state_read_source(state, place));
    } else if (keeps_none(filling, state) && !filling->found && state->values != place) {
        values = cse_state_move_values(&session->network, state, place) ? place : NULL;
    } else if (!filling->found) {
        values = cse_state_values(&session->network, state);
        if (values != place)
            memcpy(place, values, bytes);
    }
    if (session->saving.chain.begins)
        cse_step_chain_add_state(&session->saving.chain, state->name,
                                 values != NULL ? cse_range_digest(values, bytes)
                                                : cse_zeros_digest(bytes));
    return CSE_OK;
}

/* ---- in a file ---- */

typedef struct placing {
    cse_session *session;
    const cse_state *state;
    const unsigned char *values; /* NULL: initial ones, which are made in their place */
    unsigned char *place;
    cse_range_parts digest;
} placing;

/* Each piece waits for the disk: as large as the memory for the file allows. */
static size_t piece_bytes(int64_t memory_bytes)
{
    enum { LEAST_BYTES = 256 << 10, MOST_BYTES = 64 << 20 };
    const int64_t eighth = memory_bytes / 8 / LEAST_BYTES * LEAST_BYTES;
    return (size_t)(eighth < LEAST_BYTES ? LEAST_BYTES : eighth > MOST_BYTES ? MOST_BYTES : eighth);
}

/* Values that lie in a file as well leave memory behind the piece. */
static cse_status place_piece(placing *p, size_t done, size_t size)
{
    const size_t element = cse_dtype_size(p->state->dtype);
    unsigned char *place = p->place + done;
    const bool in_file = p->values != NULL && p->state->borrowed;
    if (in_file)
        cse_pages_read_ahead(p->values + done, size);
    if (p->values == NULL)
        cse_state_make_part(&p->session->network, p->state, (int64_t)(done / element),
                            (int64_t)(size / element), place);
    else if (p->values != p->place)
        memcpy(place, p->values + done, size);
    if (p->session->saving.chain.begins)
        cse_range_add(&p->digest, place, size);
    const int error = p->values != p->place ? cse_pages_write_out(place, size) : 0;
    if (in_file)
        cse_pages_let_go(p->values + done, size);
    if (error == 0)
        return CSE_OK;
    return cse_fail(CSE_IO, "states.directory: the file of states cannot be written: %s",
                    strerror(error));
}

static cse_status place_pieces(placing *p)
{
    const size_t bytes = cse_state_bytes(p->state);
    const size_t piece = piece_bytes(p->session->opened.cluster.states_memory_bytes);
    if (p->values == p->place && !p->session->saving.chain.begins)
        return CSE_OK;
    cse_range_begin(&p->digest);
    for (size_t done = 0; done < bytes; done += piece)
        CSE_TRY(place_piece(p, done, bytes - done < piece ? bytes - done : piece));
    cse_step_chain_add_state(&p->session->saving.chain, p->state->name, cse_range_end(&p->digest));
    return CSE_OK;
}

cse_status cse_place_values_in_file(cse_session *session, cse_state *state, unsigned char *place)
{
    placing p = { .session = session, .state = state, .place = place };
    p.values = cse_state_values(&session->network, state);
    return place_pieces(&p);
}

/* States are written out while they are placed, and never whole in memory. Zeros are there. */
static cse_status place_in_file(cse_session *session, const cse_states_filling *filling,
                                cse_state *state, unsigned char *place)
{
    placing p = { .session = session, .state = state, .place = place };
    if (filling->found)
        return CSE_OK;
    if (!keeps_none(filling, state) || !cse_state_is_initial(state))
        p.values = cse_state_values(&session->network, state);
    else if (cse_initial_zeros(&state->initializer)) {
        cse_step_chain_add_state(&session->saving.chain, state->name,
                                 cse_zeros_digest(cse_state_bytes(state)));
        return CSE_OK;
    }
    return place_pieces(&p);
}

static cse_status place_state(cse_session *session, const cse_states_filling *filling,
                              cse_state *state, unsigned char *place)
{
    if (session->opened.cluster.states_directory != NULL)
        CSE_TRY(place_in_file(session, filling, state, place));
    else
        CSE_TRY(place_in_memory(session, filling, state, place));
    if (keeps_none(filling, state) && state->values != NULL)
        cse_state_release_values(state);
    return CSE_OK;
}

cse_status cse_fill_states(cse_session *session, const cse_states_filling *filling,
                           unsigned char *states)
{
    const cse_graph *graph = filling->step->graph;
    const bool trains = filling->step->training;
    if (trains && (filling->found || session->opened.cluster.state_copies > 0))
        cse_weights_link_settle(session); /* the arena has not, or will not have, all of them */
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
    if (trains) {
        cse_weights_link_begin(session, filling->step, states);
        cse_weights_sources_end(session);
    }
    session->network.states_lost = trains;
    return CSE_OK;
}
