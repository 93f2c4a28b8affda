/* The sources of one file lie in the session's memory, the states point to them. */
#include "run/saving/weights_sources.h"

#include <stdlib.h>

#include "engine/nn/network.h"

typedef struct cse_weights_sources {
    cse_weights *weights;
    cse_arena *arena;
    struct cse_weights_sources *next; /* of another file */
} cse_weights_sources;

struct cse_weights_sources *cse_weights_sources_new(cse_session *session, cse_weights *weights)
{
    cse_weights_sources *sources = cse_calloc(1, sizeof *sources);
    *sources = (cse_weights_sources){ .weights = weights,
                                      .arena = session->arena,
                                      .next = session->saving.sources };
    session->saving.sources = sources;
    return sources;
}

static cse_status read_weight(const cse_state_source *source, const cse_state *state, void *to)
{
    const cse_weights_sources *sources = source->self;
    return cse_weights_read_as(sources->weights, source->index, cse_element_of_dtype(state->dtype),
                               to);
}

bool cse_weights_sources_add(struct cse_weights_sources *sources, cse_state *state, int weight)
{
    /* These are computed from other values, or others from them, in the session's memory. */
    if (state->rule != NULL || state->sparse != NULL || state->constant || state->packed != NULL ||
        cse_state_is_made(state) || state->beside != NULL)
        return false;
    cse_state_source *source = cse_arena_alloc(sources->arena, sizeof *source);
    *source = (cse_state_source){ .read = read_weight, .self = sources, .index = weight };
    cse_state_take_source(state, source);
    return true;
}

void cse_weights_sources_end(cse_session *session)
{
    cse_network *network = &session->network;
    for (int i = 0; i < network->state_count && session->saving.sources != NULL; i++)
        if (network->states[i]->source != NULL)
            cse_state_values(network, network->states[i]);
    cse_weights_sources_clear(session);
}

void cse_weights_sources_clear(cse_session *session)
{
    while (session->saving.sources != NULL) {
        cse_weights_sources *sources = session->saving.sources;
        session->saving.sources = sources->next;
        cse_weights_close(&sources->weights);
        free(sources);
    }
}
