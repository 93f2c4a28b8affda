/* What the executions of a job take, as one value. */
#include "run/job/job_parts.h"

/* The arena of training stays during a validation, and its processes do not. */
void cse_job_take_needs(job *j, const cse_execution_needs *needs)
{
    cse_execution_needs *of_kind = j->evaluating ? &j->validation_needs : &j->training_needs;
    cse_execution_needs_raise(of_kind, needs);
    const int64_t both = j->training_needs.arena_bytes + j->validation_needs.arena_bytes;
    j->result->needs = j->training_needs;
    cse_execution_needs_raise(&j->result->needs, &j->validation_needs);
    j->result->needs.arena_bytes = both;
}
