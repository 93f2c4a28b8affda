/* A traced step is planned and compiled. */
#ifndef CSE_RUN_EXECUTION_COMPILE_STEP_H
#define CSE_RUN_EXECUTION_COMPILE_STEP_H

#include "run/session/session.h"

/* Plans the traced step and, unless it is only validated, compiles it; tells observers. */
cse_status cse_step_compile(cse_session *session, const cse_step *step);

/* Tells observers the graph of a step that had been compiled before, if they lack it: once its
 * first step is done, and at the latest before it is destroyed. */
void cse_step_tell_graph(cse_session *session);

/* To be called often while the step runs: once a second it sees to it that the files of the step,
 * which a further process will read, are there. */
void cse_step_keep_artefact(cse_session *session);

#endif
