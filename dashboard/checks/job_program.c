/* The path is checked as it is written, here, and as it leads, where it is opened (execute.c). */
#include "dashboard/checks/job_program.h"

#include <stdio.h>
#include <unistd.h>

#include "dashboard/checks/spec_fault.h"
#include "engine/base/text.h"

bool cse_job_program_check(const json_t *spec, const cse_confinement *confinement,
                           json_t *diagnostics)
{
    /* Of configurations alone. */
    static const char *const others[] = { "compile_only", "validate_only", "overrides",
                                          "resume_from", "fork_from" };
    const char *program = json_string_value(json_object_get(spec, "program"));
    if (program == NULL)
        return cse_spec_fault(diagnostics, "/config",
                              "give config, a configuration's text, or program");
    if (json_object_get(spec, "config") != NULL)
        return cse_spec_fault(diagnostics, "/program",
                              "a job is a configuration or a program: give config or program");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char pointer[32];
        snprintf(pointer, sizeof pointer, "/%s", others[i]);
        if (json_object_get(spec, others[i]) != NULL)
            return cse_spec_fault(
                diagnostics, pointer,
                "has no effect on a program, whose own arguments say what it does");
    }
    if (program[0] != '/')
        return cse_spec_fault(diagnostics, "/program", "accepted is an absolute path");
    if (cse_confinement_check(confinement, CSE_PATH_PROGRAM, program) != CSE_OK)
        return cse_spec_fault(diagnostics, "/program", cse_error_message());
    if (access(program, X_OK) != 0)
        return cse_spec_fault(diagnostics, "/program",
                              "there is no such file that can be executed");
    return true;
}

bool cse_job_is_program(const char *spec_text)
{
    json_t *spec = json_loads(spec_text, 0, NULL);
    const bool program = json_object_get(spec, "program") != NULL;
    json_decref(spec);
    return program;
}

char *cse_job_program_text(const json_t *spec)
{
    json_t *kept = json_object();
    json_object_set(kept, "program", json_object_get(spec, "program"));
    if (json_object_get(spec, "arguments") != NULL)
        json_object_set(kept, "arguments", json_object_get(spec, "arguments"));
    char *text = json_dumps(kept, JSON_INDENT(2));
    json_decref(kept);
    return text;
}
