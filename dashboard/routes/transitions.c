/* Each change of state with its reason: the run's own and the server's. */
#include "dashboard/server.h"

static void list_transitions(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    cse_answer_json(
        answer, 200,
        json_pack("{s:o}", "transitions", cse_job_transitions_json(request->server->jobs, &job)));
    cse_job_release(&job);
}

const cse_route cse_route_transitions = {
    .path = "/api/v1/jobs/{id}/transitions",
    .operations = {
        { .id = "listTransitions", .handle = list_transitions },
        { 0 },
    },
};
