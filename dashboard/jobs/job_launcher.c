/* What a specification may ask of another scheduler. */
#include "dashboard/jobs/job_launcher.h"

#include <string.h>

#include "dashboard/checks/spec_fault.h"
#include "workers/batch/slurm_options.h"

bool cse_job_is_batch(const json_t *spec)
{
    const char *launcher = json_string_value(json_object_get(spec, "launcher"));
    return launcher != NULL && strcmp(launcher, "slurm") == 0;
}

/* As sbatch reads options: of two the second one counts, and the script's own is two nodes. */
bool cse_job_is_on_one_node(const json_t *spec)
{
    static const char name[] = "--nodes=";
    const char *options = json_string_value(json_object_get(spec, "launcher_options"));
    cse_words words = { 0 };
    cse_arena *arena = cse_arena_new();
    bool one = false;
    if (cse_job_is_batch(spec) && cse_slurm_options_add(&words, arena, options) == CSE_OK)
        for (int i = 0; i < words.count; i++)
            if (strncmp(words.items[i], name, strlen(name)) == 0)
                one = strcmp(words.items[i] + strlen(name), "1") == 0;
    cse_arena_destroy(&arena);
    return one;
}

static bool options_are_accepted(const char *text)
{
    cse_words words = { 0 };
    cse_arena *arena = cse_arena_new();
    const cse_status status = cse_slurm_options_add(&words, arena, text);
    cse_arena_destroy(&arena);
    return status == CSE_OK;
}

bool cse_job_launcher_check(const json_t *spec, bool slurm, json_t *diagnostics)
{
    const char *options = json_string_value(json_object_get(spec, "launcher_options"));
    const json_t *resources = json_object_get(spec, "resources");
    if (!cse_job_is_batch(spec))
        return options == NULL ||
               cse_spec_fault(diagnostics, "/launcher_options",
                              "are those of the launcher slurm, which is not given");
    if (!slurm)
        return cse_spec_fault(
            diagnostics, "/launcher",
            "this server submits nothing to Slurm; its operator allows it with csengine "
            "serve --allow_launcher slurm");
    if (json_object_get(spec, "program") != NULL)
        return cse_spec_fault(diagnostics, "/launcher",
                              "a program is started on the server's host alone");
    if (json_integer_value(json_object_get(resources, "cores")) > 0 ||
        json_integer_value(json_object_get(resources, "memory_bytes")) > 0)
        return cse_spec_fault(diagnostics, "/resources",
                              "are those of the server's host; ask Slurm by launcher_options: "
                              "--cpus-per-task, --mem");
    return options_are_accepted(options) ||
           cse_spec_fault(diagnostics, "/launcher_options", cse_error_message());
}
