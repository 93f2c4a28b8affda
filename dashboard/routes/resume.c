/* Goes on: with a run that stands still, or with a new attempt of one that has ended. */
#include "dashboard/server.h"

static void resume_job(const cse_request *request, cse_answer *answer)
{
    const cse_job_command command = {
        .command = "resume",
        .message = json_string_value(json_object_get(request->body, "message")),
        .grace_s = -1,
    };
    cse_server_do_command(request, answer, &command);
}

const cse_route cse_route_resume = {
    .path = "/api/v1/jobs/{id}/resume",
    .tag = "control",
    .operations = {
        { .method = "POST",
          .id = "resumeJob",
          .summary = "Goes on: a paused run, or a new attempt of an ended one",
          CSE_COMMAND_OPERATION,
          .body = "ReasonRequest",
          .body_optional = true,
          .handle = resume_job },
        { 0 },
    },
};
