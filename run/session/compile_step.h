/* A traced step is planned and compiled. */
#ifndef CSE_RUN_SESSION_COMPILE_STEP_H
#define CSE_RUN_SESSION_COMPILE_STEP_H

#include "run/session/session.h"

/* Plans the traced step and, unless it is only validated, compiles it; tells observers. */
cse_status cse_step_compile(cse_session *session, const cse_step *step);

#endif
