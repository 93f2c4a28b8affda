/* From fork to fork, as long as they are jobs of this server. */
#include "dashboard/queue/job_past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/queue/job_fork.h"
#include "dashboard/queue/job_json.h"
#include "engine/base/arena.h"

static json_t *fork_of(cse_jobs *jobs, const cse_job *job)
{
    json_t *shown = cse_job_json(jobs, job), *fork = json_incref(json_object_get(shown, "fork"));
    json_decref(shown);
    return fork;
}

/* Goes on with the run that the newest part is of; false: it is no job here. */
static bool step_back(cse_jobs *jobs, const char *id, json_t **fork,
                      char source[CSE_JOB_PATH_BYTES])
{
    cse_job *job = cse_calloc(1, sizeof *job);
    const bool copied = json_is_true(json_object_get(*fork, "copied"));
    const bool found = *id != '\0' && cse_jobs_find(jobs, id, job);
    json_decref(*fork);
    *fork = NULL;
    if (found) {
        if (!copied)
            memcpy(source, job->record.model_dir, CSE_JOB_PATH_BYTES);
        *fork = fork_of(jobs, job);
        cse_job_release(job);
    }
    free(job);
    return found;
}

int cse_job_pasts(cse_jobs *jobs, const cse_job *job, cse_job_past pasts[CSE_MOST_PASTS],
                  int64_t *own)
{
    char source[CSE_JOB_PATH_BYTES];
    json_t *fork = fork_of(jobs, job);
    int count = 0;
    memcpy(source, job->record.model_dir, sizeof source);
    *own = json_is_object(fork) ? json_integer_value(json_object_get(fork, "step")) + 1 : 1;
    while (json_is_object(fork) && count < CSE_MOST_PASTS) {
        cse_job_past *past = &pasts[count++];
        const char *folder = json_string_value(json_object_get(fork, "model_dir"));
        *past =
            (cse_job_past){ .first = 1, .last = json_integer_value(json_object_get(fork, "step")) };
        cse_job_fork_origin(jobs, fork, past->job);
        const bool copied = json_is_true(json_object_get(fork, "copied"));
        snprintf(past->model_dir, sizeof past->model_dir, "%s", folder != NULL ? folder : "");
        const bool found = step_back(jobs, past->job, &fork, source);
        if (!copied && !found) {
            count--; /* its points are nowhere */
            break;
        }
        memcpy(past->source, source, sizeof source);
        const int64_t before = json_integer_value(json_object_get(fork, "step"));
        if (before > 0 && before < past->last)
            past->first = before + 1;
    }
    json_decref(fork);
    return count;
}
