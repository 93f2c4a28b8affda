/* The limit job_time_sec: an execution that it ends, ends as if it were asked to, after the step in
 * flight, with a checkpoint. */
#ifndef CSE_RUN_EXECUTION_TIME_LIMIT_H
#define CSE_RUN_EXECUTION_TIME_LIMIT_H

#include "run/session/session.h"

/* Polled by an execution: whether it has to end. */
bool cse_session_time_is_up(cse_session *session);

/* After an execution: CSE_TIME_LIMIT when the limit has ended it before its last step. */
cse_status cse_session_check_time(const cse_session *session);

#endif
