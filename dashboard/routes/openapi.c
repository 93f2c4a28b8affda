/* The description that requests are checked by. */
#include "dashboard/server.h"

static void answer_description(const cse_request *request, cse_answer *answer)
{
    const json_t *description = cse_http_description_view(request->server->http);
    cse_answer_json(answer, 200, json_incref((json_t *)(uintptr_t)description));
}

const cse_route cse_route_openapi = {
    .path = "/openapi.json",
    .tag = "server",
    .operations = {
        { CSE_OPERATION("GET", "getOpenapi", answer_description, "This description"),
          .replies = "200 object",
          .open = true,
          .quick = true },
    },
};
