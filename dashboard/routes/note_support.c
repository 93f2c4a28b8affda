/* A server that only shows a run writes nothing into its folder. */
#include "dashboard/routes/note_support.h"

bool cse_note_may_change(const cse_request *request, cse_answer *answer, cse_job *job)
{
    if (request->server->jobs->options.read_only) {
        cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED,
                           "this server only shows the run: write notes with `csengine notes "
                           "MODEL_DIR TEXT`");
        return false;
    }
    if (!cse_server_find_job(request, answer, job))
        return false;
    if (!cse_job_folder_is_gone(&job->record))
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                       "the folder of job \"%s\" was removed, and its notes with it",
                       job->record.id);
    cse_job_release(job);
    return false;
}

void cse_note_refuse(cse_answer *answer, cse_status status, const char *id)
{
    if (status == CSE_UNAVAILABLE)
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT, "%s", cse_error_message());
    else if (status == CSE_USAGE)
        cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST, "%s", cse_error_message());
    else if (status == CSE_NO_INPUT)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "job \"%s\": %s", id,
                           cse_error_message());
    else
        cse_answer_failure(answer, status);
}
