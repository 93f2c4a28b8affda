/* Whether the process is alive: answers as long as it can. */
#include "dashboard/server.h"

static void answer_health(const cse_request *request, cse_answer *answer)
{
    (void)request;
    cse_answer_json(answer, 200, json_pack("{s:s}", "status", "ok"));
}

const cse_route cse_route_healthz = {
    .path = "/healthz",
    .operations = {
        { .id = "getHealth", .handle = answer_health, .quick = true },
        { 0 },
    },
};
