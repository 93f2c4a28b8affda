/* Lets the states stand still after the step in flight. */
#include "dashboard/server.h"

static void pause_job(const cse_request *request, cse_answer *answer)
{
    const cse_job_command command = {
        .command = "pause",
        .message = json_string_value(json_object_get(request->body, "message")),
        .grace_s = -1,
    };
    cse_server_do_command(request, answer, &command);
}

const cse_route cse_route_pause = {
    .path = "/api/v1/jobs/{id}/pause",
    .tag = "control",
    .operations = {
        { .method = "POST",
          .id = "pauseJob",
          .summary = "Lets the states stand still after the step in flight",
          CSE_COMMAND_OPERATION,
          .body = "ReasonRequest",
          .body_optional = true,
          .handle = pause_job },
        { 0 },
    },
};
