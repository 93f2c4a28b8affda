/* What the executions of a job take, as one value. */
#include "run/job/job_parts.h"

/* The arena of training stays during a validation, and its processes do not. */
void cse_job_take_needs(cse_job *job, bool training, const cse_execution_needs *needs)
{
    cse_job_result *result = job->result;
    cse_execution_needs *of_kind = training ? &result->training_needs : &result->validation_needs;
    cse_execution_needs_raise(of_kind, needs);
    const int64_t both = result->training_needs.arena_bytes + result->validation_needs.arena_bytes;
    result->needs = result->training_needs;
    cse_execution_needs_raise(&result->needs, &result->validation_needs);
    result->needs.arena_bytes = both;
}
