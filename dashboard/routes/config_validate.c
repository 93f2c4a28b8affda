/* Checks a configuration; nothing is started, nothing is kept. */
#include <string.h>

#include "dashboard/check.h"
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
                              .executable =
                                  deep ? cse_jobs_executable_view(request->server->jobs) : NULL };
    json_t *diagnostics = json_array();
    int64_t began_ns = cse_clock_ns();
    cse_status status = cse_check_configuration(&check, diagnostics);
    if (status == CSE_OK)
        cse_answer_json(answer, 200,
                        json_pack("{s:b, s:O, s:f}", "valid", json_array_size(diagnostics) == 0,
                                  "diagnostics", diagnostics, "milliseconds",
                                  (double)(cse_clock_ns() - began_ns) / 1e6));
    else
        cse_answer_failure(answer, status);
    json_decref(diagnostics);
}

const cse_route cse_route_config_validate = {
    .path = "/api/v1/config:validate",
    .operations = {
        { .id = "validateConfig", .handle = validate },
        { 0 },
    },
};
