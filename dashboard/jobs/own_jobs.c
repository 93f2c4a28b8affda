/* A job that is not there is left to the route to tell. Creating one under a name that is taken is
 * answered by the request's own rule. */
#include "dashboard/jobs/own_jobs.h"

#include <string.h>

#include "dashboard/jobs/job_table.h"

bool cse_own_jobs_admits(void *jobs, const cse_request *request, cse_answer *answer)
{
    cse_job job;
    const char *id = cse_request_text(request, "id", NULL);
    if (request->grant == NULL || id == NULL || strcmp(request->method, "PUT") == 0 ||
        !cse_jobs_find(jobs, id, &job))
        return true;
    const bool own = strcmp(job.record.owner, request->grant->name) == 0;
    if (!own)
        cse_answer_problem(answer, CSE_PROBLEM_FORBIDDEN,
                           "job \"%s\" was not requested with the token \"%s\": it can be read "
                           "with it, and not changed",
                           id, request->grant->name);
    cse_job_release(&job);
    return own;
}
