/* Ends the job after the step in flight, with a checkpoint unless told otherwise. */
#include "dashboard/server.h"

static void cancel_job(const cse_request *request, cse_answer *answer)
{
    const json_t *body = request->body, *grace = json_object_get(body, "grace_s");
    const cse_job_command command = {
        .command = "cancel",
        .message = json_string_value(json_object_get(body, "message")),
        .save = !json_is_false(json_object_get(body, "save")),
        .grace_s = grace != NULL ? json_number_value(grace) : -1,
    };
    cse_server_do_command(request, answer, &command);
}

static const char schemas[] =
    "CancelRequest\n"
    "  grace_s? number 0..86400  # seconds until it is killed\n"
    "  save? boolean  # whether it writes a checkpoint before it ends; default true\n"
    "  message? string ..1000\n"
    "  = {\"grace_s\": 30, \"save\": true}\n";

const cse_route cse_route_cancel = {
    .path = "/api/v1/jobs/{id}/cancel",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { .method = "POST",
          .id = "cancelJob",
          .summary = "Ends the job, with a checkpoint first",
          CSE_COMMAND_OPERATION,
          .body = "CancelRequest",
          .body_optional = true,
          .handle = cancel_job },
        { 0 },
    },
};
