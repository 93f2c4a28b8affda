/* The build, and what this server can do. */
#include <unistd.h>

#include "config.h"
#include "dashboard/server.h"

static void answer_version(const cse_request *request, cse_answer *answer)
{
    const cse_server *server = request->server;
    bool root = cse_jobs_is_root(server->jobs);
    json_t *features =
        json_pack("{s:b, s:b, s:b, s:b, s:b}", "submit", (int)root, "queue", (int)root, "validate",
                  1, "scale", 1, "audit", (int)(cse_jobs_db_view(server->jobs) != NULL));
    cse_answer_json(answer, 200,
                    json_pack("{s:s, s:s, s:s, s:o, s:I, s:I}", "version", PACKAGE_VERSION, "api",
                              "v1", "mode", root ? "root" : "run", "features", features,
                              "started_ms", (json_int_t)server->started_ms, "pid",
                              (json_int_t)getpid()));
}

static const char schemas[] =
    "Version\n"
    "  version,api string\n"
    "  mode 'run'|'root'  # run: serves one run; root: owns a queue of jobs\n"
    "  features {boolean}\n"
    "  started_ms time\n"
    "  pid integer\n"
    "  = {\"version\": \"0.1.0\", \"api\": \"v1\", \"mode\": \"root\", \"features\": {\"submit\": "
    "true, \"scale\": false}, \"started_ms\": 1700000000000, \"pid\": 4242}\n";

const cse_route cse_route_version = {
    .path = "/api/v1/version",
    .tag = "server",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getVersion", answer_version, "Build and features"),
          .replies = "200 Version",
          .quick = true },
    },
};
