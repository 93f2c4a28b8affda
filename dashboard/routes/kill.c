/* Ends the processes at once; what was not saved is lost. */
#include "dashboard/server.h"

static void kill_job(const cse_request *request, cse_answer *answer)
{
    const cse_job_command command = {
        .command = "kill",
        .message = json_string_value(json_object_get(request->body, "message")),
        .grace_s = -1,
    };
    cse_server_do_command(request, answer, &command);
}

const cse_route cse_route_kill = {
    .path = "/api/v1/jobs/{id}/kill",
    .tag = "control",
    .operations = {
        { .method = "POST",
          .id = "killJob",
          .summary = "Ends the job's processes at once",
          CSE_COMMAND_OPERATION,
          .body = "ReasonRequest",
          .body_optional = true,
          .handle = kill_job },
        { 0 },
    },
};
