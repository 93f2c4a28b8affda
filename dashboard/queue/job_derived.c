/* A store that was written to a moment ago may be again within the same tick of its file's clock:
 * what is read of it then is not kept. */
#include "dashboard/queue/job_derived.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "store/identity.h"

enum { SOURCE_BYTES = CSE_STORE_IDENTITY_BYTES + 512, STILL_MS = 1000 };

/* False: it changes now. */
static bool take_source(const cse_jobs *jobs, const cse_job *job, char source[SOURCE_BYTES])
{
    const cse_job_record *r = &job->record;
    const cse_store_identity store = cse_store_identify(r->model_dir);
    snprintf(source, SOURCE_BYTES, "%s %s %lld %s %lld %lld %lld %lld", jobs->build, store.text,
             (long long)r->attempt, cse_run_state_name(r->state), (long long)r->state_since_ms,
             (long long)r->started_ms, (long long)r->ended_ms, (long long)r->pid);
    return cse_unix_ms() - store.changed_ms >= STILL_MS;
}

static bool is_gone(const cse_job *job)
{
    return cse_store_identify(job->record.model_dir).changed_ms == 0;
}

/* Whether a source is of the job's last attempt. */
static bool is_of_attempt(const char *source, const cse_job *job)
{
    long long attempt = 0;
    return sscanf(source, "%*s %*s %lld", &attempt) == 1 && attempt == job->record.attempt;
}

static void keep(cse_jobs *jobs, const cse_job *job, const cse_derived_key *key, json_t *found)
{
    char after[SOURCE_BYTES];
    if (!take_source(jobs, job, after) || strcmp(after, key->source) != 0)
        return;
    cse_job_keep(jobs, job, key->kind, (cse_kept){ (char *)(uintptr_t)key->source, found });
    /* A missing store does not take the place of what was read while it was there. */
    const bool stays = key->kind != CSE_DERIVED_AT && !is_gone(job);
    char *content = stays ? json_dumps(found, JSON_COMPACT) : NULL;
    if (content != NULL)
        cse_derived_db_keep(jobs->derived, key, content);
    free(content);
}

json_t *cse_job_derived_anew(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind,
                             cse_job_read *read, const void *asked)
{
    char source[SOURCE_BYTES];
    if (!job->settled || jobs->root == NULL)
        return read(jobs, job, asked);
    take_source(jobs, job, source);
    json_t *found = read(jobs, job, asked);
    keep(jobs, job, &(cse_derived_key){ job->record.id, kind, source }, found);
    return found;
}

/* What derived.db has of it; NULL: nothing. */
static json_t *stored(cse_jobs *jobs, const cse_job *job, const cse_derived_key *key)
{
    char *content = key->kind != CSE_DERIVED_AT ? cse_derived_db_read(jobs->derived, key) : NULL;
    json_t *found = content != NULL ? json_loads(content, 0, NULL) : NULL;
    if (found != NULL)
        cse_job_keep(jobs, job, key->kind, (cse_kept){ (char *)(uintptr_t)key->source, found });
    free(content);
    return found;
}

/* What derived.db has of a store that is gone, over what `read` gives without one: another build
 * may have kept less. NULL: nothing. */
static json_t *stored_before(cse_jobs *jobs, const cse_job *job, const cse_derived_key *key,
                             cse_job_read *read, const void *asked)
{
    char *source = NULL, *content = NULL;
    json_t *found = NULL, *known = NULL;
    if (key->kind != CSE_DERIVED_AT && is_gone(job))
        content = cse_derived_db_read_any(jobs->derived, key, &source);
    if (content != NULL && is_of_attempt(source, job))
        known = json_loads(content, 0, NULL);
    if (json_is_object(known)) {
        found = read(jobs, job, asked);
        json_object_update(found, known);
        cse_job_keep(jobs, job, key->kind, (cse_kept){ (char *)(uintptr_t)key->source, found });
    }
    json_decref(known);
    free(content);
    free(source);
    return found;
}

/* One thread reads a store: others that ask for the same wait for it. */
static json_t *read_once(cse_jobs *jobs, const cse_job *job, const cse_derived_key *key,
                         cse_job_read *read, const void *asked)
{
    pthread_mutex_t *reading = &jobs->reading[job->record.seq % CSE_JOB_READINGS];
    pthread_mutex_lock(reading);
    json_t *found = cse_job_kept(jobs, job, key->kind, key->source);
    if (found == NULL && job->kept[key->kind].content != NULL)
        /* An idle reader may have the file that was there before. */
        cse_readers_forget(jobs->options.readers, job->record.model_dir);
    if (found == NULL)
        found = stored(jobs, job, key);
    if (found == NULL)
        found = stored_before(jobs, job, key, read, asked);
    if (found == NULL)
        found = cse_job_derived_anew(jobs, job, key->kind, read, asked);
    pthread_mutex_unlock(reading);
    return found;
}

json_t *cse_job_derived(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind,
                        cse_job_read *read, const void *asked)
{
    char source[SOURCE_BYTES];
    const cse_kept *kept = &job->kept[kind];
    if (!job->settled || jobs->root == NULL)
        return read(jobs, job, asked);
    take_source(jobs, job, source);
    /* Of a store whose folder was removed, what was known of it stays known. */
    if (kept->content != NULL && (strcmp(kept->source, source) == 0 || is_gone(job)))
        return json_incref(kept->content);
    return read_once(jobs, job, &(cse_derived_key){ job->record.id, kind, source }, read, asked);
}
