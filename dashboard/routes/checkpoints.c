/* The checkpoints of a run. */
#include "dashboard/saved.h"
#include "dashboard/server.h"

static void list_checkpoints(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *list = json_array();
    cse_status status = cse_saved_list(&run, list);
    cse_server_close_run(request, &run);
    if (status == CSE_OK)
        cse_answer_json(answer, 200, json_pack("{s:O}", "checkpoints", list));
    else
        cse_answer_failure(answer, status);
    json_decref(list);
}

const cse_route cse_route_checkpoints = {
    .path = "/api/v1/jobs/{id}/checkpoints",
    .operations = {
        { .id = "listCheckpoints", .handle = list_checkpoints },
        { 0 },
    },
};
