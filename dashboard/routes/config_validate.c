/* Checks a configuration without starting or storing anything. */
#include <string.h>

#include "dashboard/check.h"
#include "dashboard/checker.h"
#include "dashboard/server.h"
#include "engine/base/clock.h"

static void validate(const cse_request *request, cse_answer *answer)
{
    const json_t *body = request->body;
    const char *yaml = request->body_text;
    const char *depth = json_string_value(json_object_get(body, "depth"));
    if (body != NULL)
        yaml = json_string_value(json_object_get(body, "config"));
    bool deep = depth == NULL || strcmp(depth, "step") == 0;
    const cse_check check = { .yaml = yaml,
                              .overrides = json_object_get(body, "overrides"),
                              .client = request->socket,
                              .confinement = cse_jobs_confinement_view(request->server->jobs),
                              .executable =
                                  deep ? cse_jobs_executable_view(request->server->jobs) : NULL };
    const cse_check_result found = { .diagnostics = json_array(), .warnings = json_array() };
    int64_t began_ns = cse_clock_ns();
    cse_status status = cse_check_configuration(&check, &found);
    cse_answer_result(answer, status,
                      json_pack("{s:b, s:o, s:o, s:f}", "valid",
                                json_array_size(found.diagnostics) == 0, "diagnostics",
                                found.diagnostics, "warnings", found.warnings, "milliseconds",
                                (double)(cse_clock_ns() - began_ns) / 1e6));
}

static const char schemas[] =
    "ValidateResult\n"
    "  valid boolean\n"
    "  diagnostics [Diagnostic]  # every error that does not follow from another, in the order in "
    "which they are found; 50 at most\n"
    "  warnings [Diagnostic]  # settings that would have no effect; with depth settings only those "
    "of "
    "which the file alone shows it\n"
    "  milliseconds number  # time the check took\n"
    "  = {\"valid\": false, \"diagnostics\": [{\"severity\": \"error\", \"line\": 4, \"column\": "
    "13, \"message\": \"unknown setting\"}], \"warnings\": [], \"milliseconds\": 41}\n"
    "ValidateRequest\n"
    "  config string ..1048576\n"
    "  overrides? {string|number|boolean|integer|null} ..256\n"
    "  depth? 'settings'|'step'  # settings: the file against the table of settings; step: also "
    "traces the model\n"
    "  = {\"config\": \"trainer: {}\\n"
    "\"}\n";

const cse_route cse_route_config_validate = {
    .path = "/api/v1/config:validate",
    .tag = "config",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("POST", "validateConfig", validate,
                        "Checks a configuration; nothing is started"),
          .body = "ValidateRequest\n"
          "application/yaml string  # CONFIG.yaml itself; the rest by query\n",
          .replies = "200 ValidateResult  # Checked",
          .problems = "503",
          .unrecorded = true },
    },
};
