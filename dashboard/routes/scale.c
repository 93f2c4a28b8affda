/* Lets more or fewer replicas share the next steps; the result does not change. */
#include "dashboard/server.h"

static void scale_job(const cse_request *request, cse_answer *answer)
{
    const cse_job_command command = {
        .command = "scale",
        .num_csx = json_integer_value(json_object_get(request->body, "num_csx")),
        .grace_s = -1,
    };
    cse_server_do_command(request, answer, &command);
}

static const char schemas[] = "ScaleRequest\n"
                              "  num_csx integer 1..1024  # replicas from the next step on\n"
                              "  = {\"num_csx\": 2}\n";

const cse_route cse_route_scale = {
    .path = "/api/v1/jobs/{id}/scale",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { .method = "POST",
          .id = "scaleJob",
          .summary = "Changes the number of replicas",
          CSE_COMMAND_OPERATION,
          .body = "ScaleRequest",
          .handle = scale_job },
        { 0 },
    },
};
