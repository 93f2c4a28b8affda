/* What a run computes in, and why, as it is told at the start of the run: to people and in the
 * record. */
#include "run/job/job_parts.h"

void cse_job_tell_format(cse_job *j)
{
    if (j->told_format || !cse_job_executes(j))
        return;
    j->told_format = true;
    cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), j->session->computes);
}
