/* The session of the process: which one is open. */
#include "run/session/open_session.h"

static cse_session *the_session;

cse_session *cse_session_open_view(const char *caller)
{
    return cse_network_open_view(caller) != NULL ? the_session : NULL;
}

cse_status cse_session_status(void)
{
    return cse_network_status("cse_session_status");
}

int64_t cse_global_step(void)
{
    cse_session *session = cse_session_open_view("cse_global_step");
    return session != NULL ? session->training.global_step : 0;
}

void cse_session_begin_record(cse_session *session)
{
    const cse_configuration *c = &session->configuration;
    if (c->compile_only || c->validate_only)
        return;
    if (session->recording.begin != NULL && !session->recording.begun) {
        session->recording.begun = true;
        session->recording.begin(session->recording.self, session);
    }
    cse_session_tell_format(session);
}

void cse_session_set_open(cse_session *session)
{
    the_session = session;
}

cse_session *cse_session_held(void)
{
    return the_session;
}
