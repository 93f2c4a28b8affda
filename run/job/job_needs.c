/* What the executions of a job take, as one value. */
#include "run/job/job_parts.h"

/* The arena of training stays during a validation, and its processes do not. */
void cse_job_take_needs(cse_job *job, bool training, const cse_execution_needs *needs)
{
    cse_execution_needs *of_kind = training ? &job->training_needs : &job->validation_needs;
    cse_execution_needs_raise(of_kind, needs);
    const int64_t both = job->training_needs.arena_bytes + job->validation_needs.arena_bytes;
    job->result->needs = job->training_needs;
    cse_execution_needs_raise(&job->result->needs, &job->validation_needs);
    job->result->needs.arena_bytes = both;
}
