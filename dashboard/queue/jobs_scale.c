/* The configuration is the one in the job's folder, which a job may have changed since: it is
 * checked as one that comes from outside. */
#include "dashboard/queue/jobs_scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/queue/job_check.h"
#include "engine/base/arena.h"
#include "engine/base/beneath.h"

enum { MOST_BYTES = 1 << 20 };

/* The request of a job with another number of replicas; the caller's. */
static json_t *spec_with_replicas(const cse_job_record *record, int64_t num_csx)
{
    json_t *spec = json_loads(record->spec, 0, NULL);
    json_t *overrides = json_object_get(spec, "overrides");
    if (overrides == NULL) {
        overrides = json_object();
        json_object_set_new(spec, "overrides", overrides);
    }
    json_object_set_new(overrides, "backend.cluster_config.num_csx", json_integer(num_csx));
    return spec;
}

static cse_status read_text(const char *path, char **text)
{
    FILE *file = cse_open_plain_stream(path);
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "%s cannot be opened", path);
    *text = cse_calloc(MOST_BYTES + 1, 1);
    (void)!fread(*text, 1, MOST_BYTES, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    return failed ? cse_fail(CSE_IO, "%s cannot be read", path) : CSE_OK;
}

/* What the job takes then; fails as its creation would. */
static cse_status check(const cse_jobs *jobs, const cse_job_record *record, const json_t *spec,
                        cse_job_demand *demand)
{
    char path[CSE_JOB_PATH_BYTES + 32];
    char *config = NULL;
    cse_config_facts facts = { .label_words = NULL };
    const cse_check_result found = { .diagnostics = json_array(), .warnings = json_array() };
    snprintf(path, sizeof path, "%s/submitted.yaml", record->model_dir);
    cse_status status = read_text(path, &config);
    const cse_job_check check = {
        .spec = spec, .config = config, .grant = cse_jobs_grant(jobs, record->owner), .client = -1
    };
    if (status == CSE_OK)
        status = cse_job_check_spec(jobs, &check, &found, &facts, demand);
    const json_t *first = json_array_get(found.diagnostics, 0);
    if (status == CSE_OK && first != NULL)
        status = cse_fail(CSE_USAGE, "job \"%s\" goes on as it is: %s", record->id,
                          json_string_value(json_object_get(first, "message")));
    cse_config_facts_clear(&facts);
    json_decref(found.diagnostics);
    json_decref(found.warnings);
    free(config);
    return status;
}

cse_status cse_job_scale_check(const cse_jobs *jobs, const cse_job_record *record, int64_t num_csx,
                               json_t **spec, cse_job_demand *demand)
{
    *spec = spec_with_replicas(record, num_csx);
    return check(jobs, record, *spec, demand);
}
