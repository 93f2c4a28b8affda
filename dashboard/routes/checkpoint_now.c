/* Writes a checkpoint after the step in flight and goes on. */
#include "dashboard/server.h"

static void checkpoint_job(const cse_request *request, cse_answer *answer)
{
    const cse_job_command command = {
        .command = "checkpoint",
        .message = json_string_value(json_object_get(request->body, "message")),
        .grace_s = -1,
    };
    cse_server_do_command(request, answer, &command);
}

const cse_route cse_route_checkpoint_now = {
    .path = "/api/v1/jobs/{id}/checkpoint",
    .tag = "control",
    .operations = {
        { .method = "POST",
          .id = "checkpointJob",
          .summary = "Writes a checkpoint after the step in flight and goes on",
          CSE_COMMAND_OPERATION,
          .body = "ReasonRequest",
          .body_optional = true,
          .handle = checkpoint_job },
        { 0 },
    },
};
