/* Where samples are left out and no step is given, the last shared one is found by the job's own
 * process, which reads the data for it. */
#include "dashboard/jobs/fork_source.h"

#include <inttypes.h>
#include <string.h>

#include "dashboard/jobs/jobs_origin.h"
#include "run/travel/fork_run.h"

static int64_t step_of(const json_t *from)
{
    return json_integer_value(json_object_get(from, "step"));
}

cse_status cse_fork_source_find(cse_jobs *jobs, const json_t *from, const cse_grant *grant,
                                char model_dir[CSE_JOB_PATH_BYTES])
{
    const char *id = json_string_value(json_object_get(from, "job"));
    const cse_job_entry *entry = cse_job_entry_find(jobs, id);
    if (entry == NULL)
        return cse_job_origin_missing(jobs, "fork_from", id);
    if (grant != NULL && strcmp(entry->record.owner, grant->name) != 0)
        return cse_fail(CSE_PERMISSION,
                        "fork_from: job \"%s\" was not requested with the token \"%s\": a fork "
                        "shares its files; start a job with resume_from",
                        id, grant->name);
    snprintf(model_dir, CSE_JOB_PATH_BYTES, "%s", entry->record.model_dir);
    return CSE_OK;
}

static cse_status check_steps(const char *model_dir, int64_t step)
{
    int64_t last;
    CSE_TRY(cse_store_last_step(model_dir, &last));
    if (last < 1)
        return cse_fail(CSE_NO_INPUT, "the run has done no step that a fork could share");
    if (step > last)
        return cse_fail(CSE_NO_INPUT,
                        "the run has done the steps 1 to %" PRId64 ", and not step %" PRId64, last,
                        step);
    return CSE_OK;
}

cse_status cse_fork_source_check(const char *model_dir, const json_t *from)
{
    cse_run_chain chain = { .count = 0 };
    const int64_t step = step_of(from);
    CSE_TRY(check_steps(model_dir, step));
    cse_status status = cse_run_chain_read(model_dir, step, step, &chain);
    if (status == CSE_OK && chain.count == 0)
        status = cse_fail(CSE_DATA,
                          "the run keeps no digests of %s (trainer.init.step_digests), by which a "
                          "fork proves what both share; start a job with resume_from one of its "
                          "checkpoints",
                          step > 0 ? "this step" : "its steps");
    cse_run_chain_clear(&chain);
    return status;
}

cse_status cse_fork_source_configuration(const char *model_dir, const json_t *from,
                                         cse_arena *arena, const char **yaml)
{
    const json_t *without = json_object_get(from, "without");
    const size_t count = json_array_size(without);
    int64_t *samples = cse_arena_alloc(arena, (count + 1) * sizeof *samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = json_integer_value(json_array_get(without, i));
    const cse_fork_options options = { .model_dir = model_dir,
                                       .step = step_of(from),
                                       .without = samples,
                                       .without_count = (int64_t)count };
    return cse_fork_configuration(&options, arena, yaml);
}
