/* The configuration first, or the program; then where it is to run; then what it takes. */
#include "dashboard/queue/job_check.h"

#include "dashboard/checks/job_program.h"
#include "dashboard/checks/spec_fault.h"
#include "dashboard/jobs/job_launcher.h"

static cse_status check_content(const cse_jobs *jobs, const cse_job_check *check,
                                const cse_check_result *found, cse_config_facts *facts)
{
    const json_t *spec = check->spec;
    const char *config = json_string_value(json_object_get(spec, "config"));
    const cse_check configuration = {
        .client = check->client,
        .yaml = config != NULL ? config : check->config,
        .overrides = json_object_get(spec, "overrides"),
        .executable = check->settings_only ? NULL : jobs->executable,
        .confinement = jobs->options.confinement,
        .folder = check->folder,
    };
    if (configuration.yaml != NULL && json_object_get(spec, "program") == NULL)
        return cse_check_configuration(&configuration, found, facts);
    cse_job_program_check(spec, jobs->options.confinement, found->diagnostics);
    return CSE_OK;
}

/* A confined job starts nothing on other hosts. */
static void refuse_hosts(json_t *diagnostics)
{
    json_array_append_new(
        diagnostics,
        json_pack("{s:s, s:s, s:s}", "severity", "error", "message",
                  "cluster_config.hosts: a job of this server runs on this host alone", "hint",
                  "leave it out, or ask for a batch job (launcher: slurm) where the operator "
                  "allows that"));
}

/* A fork is made and trained by one process, `csengine fork`, on the server's host. */
static void check_fork(const json_t *spec, json_t *diagnostics)
{
    static const char *const others[] = { "resume_from", "compile_only", "validate_only" };
    const json_t *from = json_object_get(spec, "fork_from");
    if (from == NULL)
        return;
    if (json_object_get(from, "step") == NULL && json_object_get(from, "without") == NULL)
        cse_spec_fault(diagnostics, "/fork_from",
                       "give step, the last one that both share, or without, or both");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const json_t *other = json_object_get(spec, others[i]);
        if (other != NULL && !json_is_false(other))
            cse_spec_fault(diagnostics, "/fork_from",
                           "a fork goes on from the step; leave out resume_from, compile_only "
                           "and validate_only");
    }
    if (cse_job_is_batch(spec))
        cse_spec_fault(diagnostics, "/fork_from", "a fork is started on the server's host alone");
}

cse_status cse_job_check_spec(const cse_jobs *jobs, const cse_job_check *check,
                              const cse_check_result *found, cse_config_facts *facts,
                              cse_job_demand *demand)
{
    *facts = (cse_config_facts){ .replicas = 1, .workers_per_replica = 1 };
    CSE_TRY(check_content(jobs, check, found, facts));
    check_fork(check->spec, found->diagnostics);
    cse_job_launcher_check(check->spec, jobs->options.slurm, found->diagnostics);
    if (facts->names_hosts && jobs->options.confinement != NULL && !cse_job_is_batch(check->spec))
        refuse_hosts(found->diagnostics);
    if (json_array_size(found->diagnostics) == 0)
        cse_job_account_demand(
            jobs, &(cse_job_asked){ .grant = check->grant, .spec = check->spec, .facts = facts },
            demand, found->diagnostics);
    return CSE_OK;
}

void cse_config_facts_clear(cse_config_facts *facts)
{
    json_decref(facts->label_words);
    facts->label_words = NULL;
}
