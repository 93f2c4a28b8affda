/* Checks a configuration without starting or storing anything. */
#include <string.h>

#include "dashboard/queue/job_check.h"
#include "dashboard/server.h"
#include "engine/base/clock.h"

static json_t *demand_json(const cse_job_demand *demand)
{
    return demand->cores == 0 ? json_null()
                              : json_pack("{s:I, s:I}", "cores", (json_int_t)demand->cores,
                                          "memory_bytes", (json_int_t)demand->memory_bytes);
}

static void validate(const cse_request *request, cse_answer *answer)
{
    const json_t *body = request->body;
    const char *yaml = request->body_text;
    const char *depth = json_string_value(json_object_get(body, "depth"));
    if (body != NULL)
        yaml = json_string_value(json_object_get(body, "config"));
    json_t *spec = json_object();
    json_object_set(spec, "overrides", json_object_get(body, "overrides"));
    const cse_job_check check = { .spec = spec,
                                  .config = yaml,
                                  .grant = request->grant,
                                  .client = request->socket,
                                  .settings_only = depth != NULL && strcmp(depth, "step") != 0 };
    const cse_check_result found = { .diagnostics = json_array(), .warnings = json_array() };
    int64_t began_ns = cse_clock_ns();
    cse_config_facts facts;
    cse_job_demand demand = { .cores = 0 };
    cse_status status = cse_job_check_spec(request->server->jobs, &check, &found, &facts, &demand);
    cse_config_facts_clear(&facts);
    json_decref(spec);
    cse_answer_result(
        answer, status,
        json_pack("{s:b, s:o, s:o, s:o, s:f}", "valid", json_array_size(found.diagnostics) == 0,
                  "diagnostics", found.diagnostics, "warnings", found.warnings, "takes",
                  demand_json(&demand), "milliseconds", (double)(cse_clock_ns() - began_ns) / 1e6));
}

static const char schemas[] =
    "ValidateResult\n"
    "  valid boolean\n"
    "  diagnostics [Diagnostic]  # every error that does not follow from another, in the order in "
    "which they are found; 50 at most\n"
    "  warnings [Diagnostic]  # settings that would have no effect; with depth settings only those "
    "of "
    "which the file alone shows it\n"
    "  takes Resources|null  # what a job of it would take from the server's account; null: it is "
    "wrong\n"
    "  milliseconds number  # time the check took\n"
    "  = {\"valid\": false, \"diagnostics\": [{\"severity\": \"error\", \"line\": 4, \"column\": "
    "13, \"message\": \"unknown setting\"}], \"warnings\": [], \"takes\": null, \"milliseconds\": "
    "41}\n"
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
