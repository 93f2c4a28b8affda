/* Looked up when the job is requested, so that a missing source is refused, and again when it is
 * started. */
#include "dashboard/jobs/jobs_origin.h"

#include <string.h>

#include "dashboard/jobs/saved_file.h"
#include "engine/base/arena.h"
#include "engine/base/registry.h"

enum { MOST_NAMED = 20 };

typedef struct search {
    const char *model_dir;
    int64_t step; /* -1: the newest */
    char path[CSE_JOB_PATH_BYTES];
    cse_text steps; /* those that are there, the newest first */
    int count;
} search;

static void take_checkpoint(void *self, const cse_row *row)
{
    search *s = self;
    char path[CSE_JOB_PATH_BYTES];
    int64_t step = row->fields[2].integer;
    if (row->fields[9].integer != 0 || !cse_saved_file(s->model_dir, row->fields[4].text, path))
        return;
    if (s->path[0] == '\0' && (s->step < 0 || s->step == step))
        memcpy(s->path, path, sizeof path);
    if (s->count++ < MOST_NAMED)
        cse_text_add(&s->steps, "%s%lld", s->count > 1 ? ", " : "", (long long)step);
    else if (s->count == MOST_NAMED + 1)
        cse_text_add(&s->steps, ", ...");
}

cse_status cse_job_origin_missing(const cse_jobs *jobs, const char *member, const char *id)
{
    cse_text names = { 0 };
    const char **ids = cse_calloc((size_t)jobs->entry_count + 1, sizeof *ids);
    for (int i = 0; i < jobs->entry_count; i++)
        ids[i] = jobs->entries[i]->record.id;
    const char *near = cse_did_you_mean(id, ids);
    int first = jobs->entry_count > MOST_NAMED ? jobs->entry_count - MOST_NAMED : 0;
    for (int i = jobs->entry_count - 1; i >= first; i--)
        cse_text_add(&names, "%s%s", names.size > 0 ? ", " : "", ids[i]);
    cse_text_add(&names, "%s", first > 0 ? ", ..." : "");
    cse_status status =
        cse_fail(CSE_NO_INPUT, "%s: there is no job \"%s\"%s%s%s; there %s%s", member, id,
                 near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                 near != NULL ? "\"?" : "", jobs->entry_count > 0 ? "are: " : "is none",
                 jobs->entry_count > 0 ? names.data : "");
    cse_text_clear(&names);
    free(ids);
    return status;
}

/* A job without a run store has no checkpoint. */
static cse_status look(cse_jobs *jobs, const cse_job_entry *other, search *s)
{
    cse_store_reader *reader = NULL;
    cse_status status = cse_readers_borrow(jobs->options.readers, other->record.model_dir, &reader);
    if (status == CSE_OK)
        status = cse_store_reader_rows(reader, CSE_ROW_CHECKPOINT,
                                       &(cse_store_query){ .limit = 10000, .newest_first = true },
                                       take_checkpoint, s);
    cse_readers_give_back(jobs->options.readers, other->record.model_dir, &reader);
    return status == CSE_NO_INPUT ? CSE_OK : status;
}

cse_status cse_job_origin_find(cse_jobs *jobs, const json_t *from, bool may_come, cse_text *path)
{
    const char *id = json_string_value(json_object_get(from, "job"));
    const json_t *step = json_object_get(from, "step");
    const cse_job_entry *other = cse_job_entry_find(jobs, id);
    if (other == NULL)
        return cse_job_origin_missing(jobs, "resume_from", id);
    search s = { .model_dir = other->record.model_dir,
                 .step = step != NULL ? json_integer_value(step) : -1 };
    cse_status status = look(jobs, other, &s);
    bool ended = cse_run_state_is_terminal(other->record.state) && !other->alive;
    if (status == CSE_OK && s.path[0] != '\0')
        cse_text_add(path, "%s", s.path);
    else if (status == CSE_OK && (ended || !may_come)) {
        const char *there = s.count > 0 ? s.steps.data : "there is none";
        status = step != NULL
                     ? cse_fail(CSE_NO_INPUT,
                                "resume_from: job \"%s\" has no checkpoint of step %lld; %s%s", id,
                                (long long)s.step, s.count > 0 ? "there are: " : "", there)
                     : cse_fail(CSE_NO_INPUT, "resume_from: job \"%s\" has no checkpoint", id);
    }
    cse_text_clear(&s.steps);
    return status;
}

static bool starts_from(const cse_job_entry *entry, const cse_job_origin *origin)
{
    json_t *spec = json_loads(entry->record.spec, 0, NULL);
    const json_t *from = json_object_get(spec, "resume_from");
    const json_t *step = json_object_get(from, "step");
    const char *job = json_string_value(json_object_get(from, "job"));
    bool same = job != NULL && strcmp(job, origin->job) == 0 &&
                (step != NULL ? json_integer_value(step) == origin->step : origin->newest);
    json_decref(spec);
    return same;
}

bool cse_job_origin_in_use(cse_jobs *jobs, const cse_job_origin *origin,
                           char user[CSE_JOB_ID_BYTES])
{
    bool found = false;
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < jobs->entry_count && !found; i++) {
        const cse_job_entry *entry = jobs->entries[i];
        found = !entry->settled && entry->record.spec != NULL && starts_from(entry, origin);
        if (found)
            memcpy(user, entry->record.id, CSE_JOB_ID_BYTES);
    }
    pthread_mutex_unlock(&jobs->lock);
    return found;
}
