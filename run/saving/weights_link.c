/* One thread, which calls the others. It reads memory that stays until it is joined. */
#include "run/saving/weights_link.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/digest.h"

static const char prefix[] = "model.";

typedef struct cse_weights_link {
    cse_checkpoint weights; /* tensors of the model, which are hashed */
    pthread_t thread;
    bool begun;
    atomic_bool done;
    char digits[CSE_DIGEST_DIGITS + 1];
} link_of_weights;

void cse_weights_link_note(cse_session *session)
{
    cse_weights_link_clear(session);
    session->saving.weights_link = cse_calloc(1, sizeof *session->saving.weights_link);
}

/* Values in the arena, or the session's where the step has no such state. Moments are not made for
 * it: they would be memory, and no zeros of an arena any more. */
static void collect(cse_session *session, const cse_step *step, const unsigned char *states)
{
    cse_network *network = &session->network;
    cse_checkpoint *weights = &session->saving.weights_link->weights;
    weights->tensors = cse_calloc((size_t)network->state_count + 1, sizeof *weights->tensors);
    for (int i = 0; i < network->state_count; i++) {
        cse_state *state = network->states[i];
        if (!state->persistent || strncmp(state->name, prefix, sizeof prefix - 1) != 0)
            continue;
        const void *values = NULL;
        for (int b = 0; step != NULL && b < step->graph->state_count && values == NULL; b++)
            if (step->bound[b] == state)
                values = states + step->graph->states[b].offset_bytes;
        weights->tensors[weights->tensor_count++] = (cse_checkpoint_tensor){
            .name = state->name,
            .dtype = state->dtype,
            .shape = state->shape,
            .data = values != NULL ? values : cse_state_values(network, state),
            .in_file = values == NULL && state->borrowed &&
                       session->opened.cluster.states_directory != NULL,
        };
    }
}

static void *hash(void *argument)
{
    link_of_weights *link = argument;
    cse_checkpoint_digest(&link->weights, prefix, link->digits);
    atomic_store(&link->done, true);
    return NULL;
}

/* Signals are for the program's own threads. */
static bool start(link_of_weights *link)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&link->thread, NULL, hash, link) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void cse_weights_link_begin(cse_session *session, const cse_step *step, const unsigned char *states)
{
    link_of_weights *link = session->saving.weights_link;
    if (link == NULL || link->begun)
        return;
    collect(session, step, states);
    link->begun = start(link);
    if (!link->begun)
        hash(link);
}

static void take(cse_session *session)
{
    cse_links *links = &session->saving.links;
    memcpy(links->link[CSE_LINK_PREVIOUS].digest, session->saving.weights_link->digits,
           CSE_DIGEST_DIGITS + 1);
    snprintf(links->link[CSE_LINK_PREVIOUS].detail, CSE_LINK_DETAIL_BYTES, "weights");
    cse_weights_link_clear(session);
    if (session->report.links == NULL)
        return; /* no execution was told of them */
    session->report.links = cse_session_known_links(session);
    CSE_SESSION_REPORT(session, on_links, session->report.links);
}

bool cse_weights_link_holds(cse_session *session)
{
    const link_of_weights *link = session->saving.weights_link;
    if (link == NULL)
        return false;
    if (!atomic_load(&link->done))
        return link->begun;
    take(session);
    return false;
}

void cse_weights_link_leave(cse_session *session)
{
    const link_of_weights *link = session->saving.weights_link;
    if (link == NULL || !link->begun)
        return;
    pthread_join(link->thread, NULL);
    session->saving.weights_link->begun = false;
    take(session);
}

void cse_weights_link_settle(cse_session *session)
{
    link_of_weights *link = session->saving.weights_link;
    if (link == NULL)
        return;
    if (!link->begun && !atomic_load(&link->done)) {
        collect(session, NULL, NULL);
        hash(link);
    }
    cse_weights_link_leave(session);
    if (session->saving.weights_link != NULL)
        take(session);
}

void cse_weights_link_clear(cse_session *session)
{
    link_of_weights *link = session->saving.weights_link;
    if (link == NULL)
        return;
    if (link->begun)
        pthread_join(link->thread, NULL);
    free(link->weights.tensors);
    free(link);
    session->saving.weights_link = NULL;
}

const char *cse_session_links(cse_session *session)
{
    if (session->saving.links.link[CSE_LINK_CODE].digest[0] != '\0')
        cse_weights_link_settle(session);
    return cse_session_known_links(session);
}
