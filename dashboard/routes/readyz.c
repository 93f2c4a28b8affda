/* Readiness: 503 with the checks that fail. */
#include "dashboard/server.h"

static void answer_readiness(const cse_request *request, cse_answer *answer)
{
    json_t *checks = json_array();
    bool ready = cse_server_is_ready(request->server, checks);
    cse_answer_json(answer, ready ? 200 : 503,
                    json_pack("{s:b, s:o}", "ready", (int)ready, "checks", checks));
}

static const char schemas[] = "Readiness\n"
                              "  ready boolean\n"
                              "  checks [object]\n"
                              "    name string\n"
                              "    ok boolean\n"
                              "    detail string\n";

const cse_route cse_route_readyz = {
    .path = "/readyz",
    .tag = "server",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getReadiness", answer_readiness,
                        "Whether it can serve: 503 names what fails"),
          .replies = "200 Readiness  # Ready\n"
          "503 Readiness  # Not ready\n",
          .open = true },
    },
};
