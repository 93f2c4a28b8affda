/* The build, and what this server can do. */
#include <unistd.h>

#include "config.h"
#include "dashboard/server.h"
#include "engine/base/sandbox.h"

static void answer_version(const cse_request *request, cse_answer *answer)
{
    const cse_server *server = request->server;
    bool root = cse_jobs_is_root(server->jobs);
    json_t *features =
        json_pack("{s:b, s:b, s:b, s:b, s:b}", "submit", (int)root, "queue", (int)root, "validate",
                  1, "scale", 1, "audit", (int)(cse_jobs_db_view(server->jobs) != NULL));
    const cse_sandbox_figures there = cse_sandbox_available();
    json_t *spaces = there.name_spaces
                         ? json_pack("[s, s, s, s]", "processes", "ipc", "network", "mounts")
                         : json_array();
    json_t *confinement =
        json_pack("{s:b, s:i, s:b, s:o}", "no_new_privileges", 1, "landlock", there.landlock,
                  "system_calls", (int)there.system_calls, "name_spaces", spaces);
    cse_answer_json(answer, 200,
                    json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I}", "version", PACKAGE_VERSION,
                              "api", "v1", "mode", root ? "root" : "run", "features", features,
                              "confinement", confinement, "started_ms",
                              (json_int_t)server->started_ms, "pid", (json_int_t)getpid()));
}

static const char schemas[] =
    "Version\n"
    "  version,api string\n"
    "  mode 'run'|'root'  # run: serves one run; root: owns a queue of jobs\n"
    "  features {boolean}\n"
    "  confinement? Confinement  # what the processes of jobs restrict themselves by\n"
    "  started_ms time\n"
    "  pid integer\n"
    "  = {\"version\": \"0.1.0\", \"api\": \"v1\", \"mode\": \"root\", \"features\": {\"submit\": "
    "true, \"scale\": false}, \"started_ms\": 1700000000000, \"pid\": 4242}\n"
    "Confinement\n"
    "  no_new_privileges boolean\n"
    "  landlock integer  # version of the kernel's Landlock; 0: it has none\n"
    "  system_calls boolean  # a filter allows those that jobs need\n"
    "  name_spaces [string]  # of each job's own: processes, ipc, network, mounts\n"
    "  = {\"no_new_privileges\": true, \"landlock\": 3, \"system_calls\": true, "
    "\"name_spaces\": []}\n";

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
