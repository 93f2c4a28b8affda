/* Readiness: 503 with the checks that fail. */
#include <stdio.h>
#include <sys/statvfs.h>

#include "dashboard/server.h"

static bool add_check(json_t *checks, const char *name, bool ok, const char *detail)
{
    json_array_append_new(
        checks, json_pack("{s:s, s:b, s:s}", "name", name, "ok", (int)ok, "detail", detail));
    return ok;
}

static bool is_ready(const cse_server *server, json_t *checks)
{
    enum { LEAST_FREE_MIB = 64 };
    char detail[128];
    struct statvfs disk;
    const char *directory = cse_jobs_directory_view(server->jobs);
    cse_jobs_db *db = cse_jobs_db_view(server->jobs);
    bool writable = db != NULL && cse_jobs_db_check(db) == CSE_OK;
    bool ready =
        add_check(checks, "database", writable, writable ? "can be written" : "cannot be written");
    bool known = statvfs(directory, &disk) == 0;
    long long free_mib = known ? (long long)(disk.f_bavail * disk.f_frsize >> 20) : 0;
    snprintf(detail, sizeof detail, "%lld MiB are free", free_mib);
    return add_check(checks, "disk", known && free_mib >= LEAST_FREE_MIB, detail) && ready;
}

static void answer_readiness(const cse_request *request, cse_answer *answer)
{
    json_t *checks = json_array();
    bool ready = is_ready(request->server, checks);
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
