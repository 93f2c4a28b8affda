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

const cse_route cse_route_scale = {
    .path = "/api/v1/jobs/{id}/scale",
    .operations = {
        { .id = "scaleJob", .handle = scale_job },
        { 0 },
    },
};
