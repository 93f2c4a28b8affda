/* Whether the server can do its work; a check that fails is named. */
#include "dashboard/server.h"

static void answer_readiness(const cse_request *request, cse_answer *answer)
{
    json_t *checks = json_array();
    bool ready = cse_server_is_ready(request->server, checks);
    cse_answer_json(answer, ready ? 200 : 503,
                    json_pack("{s:b, s:o}", "ready", (int)ready, "checks", checks));
}

const cse_route cse_route_readyz = {
    .path = "/readyz",
    .operations = {
        { .id = "getReadiness", .handle = answer_readiness },
        { 0 },
    },
};
