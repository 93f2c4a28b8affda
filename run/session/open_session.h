/* Which session is open, for the files that open and close it. */
#ifndef CSE_RUN_SESSION_OPEN_SESSION_H
#define CSE_RUN_SESSION_OPEN_SESSION_H

#include "run/session/session.h"

void cse_session_set_open(cse_session *session);
/* The session, whoever asks; NULL: none is open. */
cse_session *cse_session_held(void);

#endif
