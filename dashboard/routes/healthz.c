/* Liveness: answers as long as the process can. */
#include "dashboard/server.h"

static void answer_health(const cse_request *request, cse_answer *answer)
{
    (void)request;
    cse_answer_json(answer, 200, json_pack("{s:s}", "status", "ok"));
}

static const char schemas[] = "Health\n"
                              "  status 'ok'\n"
                              "  = {\"status\": \"ok\"}\n";

const cse_route cse_route_healthz = {
    .path = "/healthz",
    .tag = "server",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getHealth", answer_health, "Whether the process is alive"),
          .replies = "200 Health  # Alive",
          .open = true,
          .quick = true },
    },
};
