/* The digest by which two jobs are compared. */
#ifndef CSE_RUN_JOB_JOB_DIGEST_H
#define CSE_RUN_JOB_JOB_DIGEST_H

#include "run/session/session.h"

/* Of the session's states, as a checkpoint of them has it; or, since an evaluation has no states of
 * the optimizer, of the checkpoint at `path`. NULL: of the states. */
cse_status cse_job_digest(cse_session *session, const char *path,
                          char digits[CSE_DIGEST_DIGITS + 1]);

#endif
