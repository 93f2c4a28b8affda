/* The arena that was found is looked at before the steps are planned, and taken when they are: only
 * then is the graph known that it has to fit. */
#include "run/execution/standing_arena.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/kept_arena.h"

bool cse_session_finds_arena(cse_session *session, cse_arena_facts *facts)
{
    if (session->standing.looked || session->hooks.kept_arena == NULL)
        return false;
    session->standing.looked = true;
    const int descriptor = cse_kept_arena_get(session->hooks.kept_arena);
    if (descriptor < 0)
        return false;
    if (cse_arena_look(descriptor, facts) == CSE_OK &&
        facts->steps_done >= session->training.global_step) {
        session->standing.found = descriptor + 1;
        return true;
    }
    close(descriptor);
    return false;
}

bool cse_session_take_arena(cse_session *session, bool found, cse_execution *execution)
{
    if (!found) {
        if (session->standing.cluster != NULL &&
            cse_execution_extend(execution, session->standing.cluster) == CSE_OK) {
            execution->inherited = session->standing.cluster;
            session->standing.cluster = NULL;
        }
        return true;
    }
    const int descriptor = session->standing.found - 1;
    session->standing.found = 0;
    if (cse_execution_inherit(execution, descriptor, &execution->inherited) == CSE_OK) {
        cse_log_line(CSE_LOG_INFO, "the run goes on after step %lld, where its coordinator died",
                     (long long)cse_cluster_steps_done(execution->inherited));
        return true;
    }
    cse_log_line(CSE_LOG_WARNING, "the run goes on from step %lld, not from where it stood: %s",
                 (long long)session->training.global_step, cse_error_message());
    return false;
}

bool cse_session_stands(const cse_session *session, const cse_state *state)
{
    return session->standing.cluster != NULL && state->borrowed &&
           cse_cluster_has_states(session->standing.cluster, state->values);
}

bool cse_session_keeps(const cse_session *session, const cse_state *state,
                       const cse_state_entry *entry)
{
    const bool is_assigned = entry->next != NULL && entry->next != entry->read;
    return state->persistent && !is_assigned && cse_session_stands(session, state);
}

void cse_session_leave_arena(cse_session *session)
{
    for (int i = 0; i < session->network.state_count; i++) {
        cse_state *state = session->network.states[i];
        if (!cse_session_stands(session, state))
            continue;
        const void *values = state->values;
        memcpy(cse_state_own_values(state), values, cse_state_bytes(state));
    }
    cse_cluster_destroy(&session->standing.cluster);
}

void cse_session_clear_arenas(cse_session *session)
{
    cse_cluster_destroy(&session->standing.cluster);
    if (session->standing.found > 0)
        close(session->standing.found - 1);
    session->standing.found = 0;
}
