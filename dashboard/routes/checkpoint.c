/* One checkpoint: read, removed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/jobs/jobs_origin.h"
#include "dashboard/routes/route_support.h"
#include "dashboard/routes/saved.h"

static void get_checkpoint(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *found = cse_saved_find(&run, cse_request_integer(request, "step", 0), answer);
    if (found != NULL)
        cse_answer_json(answer, 200, found);
    cse_server_close_run(request, &run);
}

/* Fills the answer when a run needs the checkpoint. */
static bool refuse_in_use(const cse_request *request, const cse_server_run *run, int64_t step,
                          cse_answer *answer)
{
    char user[CSE_JOB_ID_BYTES];
    const cse_job_origin origin = { .job = run->job.record.id,
                                    .step = step,
                                    .newest = cse_saved_is_newest(run, step) };
    if (run->job.alive && origin.newest)
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT,
                           "the run goes on and this is its newest checkpoint");
    else if (cse_job_origin_in_use(request->server->jobs, &origin, user))
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT,
                           "job \"%s\", which has not ended, starts from this checkpoint", user);
    else
        return false;
    return true;
}

static void remove_file(const cse_server_run *run, const json_t *checkpoint, cse_answer *answer)
{
    char path[CSE_JOB_PATH_BYTES];
    if (!cse_saved_path(run, checkpoint, path))
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "the file is gone already");
    else if (unlink(path) != 0)
        cse_answer_problem(answer, CSE_PROBLEM_UNAVAILABLE, "%s", strerror(errno));
    else
        cse_answer_empty(answer, 204);
}

static void delete_checkpoint(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    int64_t step = cse_request_integer(request, "step", 0);
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *found = cse_saved_find(&run, step, answer);
    if (found != NULL && !refuse_in_use(request, &run, step, answer))
        remove_file(&run, found, answer);
    json_decref(found);
    cse_server_close_run(request, &run);
}

const cse_route cse_route_checkpoint = {
    .path = "/api/v1/jobs/{id}/checkpoints/{step}",
    .tag = "checkpoints",
    .operations = {
        { CSE_OPERATION("GET", "getCheckpoint", get_checkpoint, "One checkpoint"),
          .replies = "200 Checkpoint",
          .problems = "503" },
        { CSE_OPERATION("DELETE", "deleteCheckpoint", delete_checkpoint,
                        "Removes a checkpoint's file"),
          .replies = "204  # Removed",
          .problems = "409 501 503" },
    },
};
