/* The entries, found by id, and the changes of their states. */
#include "dashboard/jobs/job_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/jobs/job_launcher.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"

/* ---- entries ---- */

cse_job_entry *cse_job_entry_find(cse_jobs *jobs, const char *id)
{
    for (int i = 0; id != NULL && i < jobs->entry_count; i++)
        if (strcmp(jobs->entries[i]->record.id, id) == 0)
            return jobs->entries[i];
    return NULL;
}

static bool is_batch(const char *text)
{
    json_t *spec = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const bool batch = cse_job_is_batch(spec);
    json_decref(spec);
    return batch;
}

cse_job_entry *cse_job_entry_add(cse_jobs *jobs, const cse_job_record *record)
{
    assert(cse_job_entry_find(jobs, record->id) == NULL);
    cse_job_entry *entry = cse_calloc(1, sizeof *entry);
    entry->record = *record;
    entry->record.labels = cse_strdup(record->labels != NULL ? record->labels : "{}");
    entry->record.spec = cse_strdup(record->spec != NULL ? record->spec : "{}");
    entry->descriptor = -1;
    entry->launch_step = -1;
    entry->batch = is_batch(record->spec);
    CSE_GROW(jobs->entries, jobs->entry_count, jobs->entry_capacity);
    jobs->entries[jobs->entry_count++] = entry;
    return entry;
}

void cse_job_entry_save(cse_jobs *jobs, cse_job_entry *entry)
{
    if (jobs->db == NULL || jobs->root == NULL)
        return;
    bool failed = cse_jobs_db_update(jobs->db, &entry->record) != CSE_OK;
    if (failed && !entry->unsaved)
        cse_log_line(CSE_LOG_ERROR, "job %s: %s; tried again until it is written", entry->record.id,
                     cse_error_message());
    entry->unsaved = failed;
}

cse_status cse_jobs_check_room(cse_jobs *jobs)
{
    if (jobs->root == NULL || cse_jobs_db_check(jobs->db) == CSE_OK)
        return CSE_OK;
    char why[512];
    snprintf(why, sizeof why, "%s", cse_error_message());
    return cse_fail(CSE_TEMPORARY, "%s; make room on the disk of %s, then ask again", why,
                    jobs->root);
}

/* No event is sent: the run publishes its own changes. */
static void take_status(cse_job_record *record, const cse_run_status *status)
{
    record->state = status->state;
    record->state_since_ms = status->since_ms;
    snprintf(record->reason, sizeof record->reason, "%s", status->reason);
    snprintf(record->message, sizeof record->message, "%s", status->message);
}

void cse_job_entry_refresh(cse_jobs *jobs, cse_job_entry *entry)
{
    cse_run_status status;
    cse_store_reader *reader = NULL;
    cse_job_record *record = &entry->record;
    if (cse_readers_borrow(jobs->options.readers, record->model_dir, &reader) != CSE_OK)
        return;
    const bool waited_for = entry->batch && entry->alive; /* what is stored is the truth then */
    const cse_status read = waited_for ? cse_store_reader_status_of(reader, true, &status)
                                       : cse_store_reader_status(reader, &status);
    if (read == CSE_OK && status.state != CSE_RUN_NONE) {
        bool own = jobs->root == NULL;
        if (own) {
            entry->alive = status.alive;
            entry->settled = !status.alive;
            record->attempt = status.attempt;
            take_status(record, &status);
        } else if (!status.derived && status.attempt > record->base_attempt) {
            take_status(record, &status);
        }
    }
    cse_readers_give_back(jobs->options.readers, record->model_dir, &reader);
}

static void notify(cse_jobs *jobs, const cse_job_transition *t)
{
    cse_text json = { 0 };
    if (jobs->options.on_state == NULL)
        return;
    cse_text_add(&json, "{\"time_ms\":%lld,\"from_state\":", (long long)t->time_ms);
    cse_json_add_string(&json, t->from == CSE_RUN_NONE ? NULL : cse_run_state_name(t->from));
    cse_text_add(&json, ",\"to_state\":");
    cse_json_add_string(&json, cse_run_state_name(t->to));
    cse_text_add(&json, ",\"reason\":");
    cse_json_add_string(&json, t->reason);
    cse_text_add(&json, ",\"message\":");
    cse_json_add_string(&json, t->message);
    cse_text_add(&json, ",\"attempt\":%lld}", (long long)t->attempt);
    jobs->options.on_state(jobs->options.self, t->job, json.data);
    cse_text_clear(&json);
}

cse_status cse_job_entry_change(cse_jobs *jobs, cse_job_entry *entry, cse_run_state to,
                                const char *reason, const char *message)
{
    cse_status status = CSE_OK;
    cse_job_record *record = &entry->record;
    /* After a terminal state a new attempt begins, with a state that may be the first. */
    cse_run_state from = cse_run_state_is_terminal(record->state) ? CSE_RUN_NONE : record->state;
    if (from != to && !cse_run_state_may_follow(from, to)) {
        cse_log_line(CSE_LOG_ERROR, "job %s: %s may not follow %s", record->id,
                     cse_run_state_name(to), cse_run_state_name(from));
        return cse_fail(CSE_INTERNAL, "job \"%s\": %s may not follow %s", record->id,
                        cse_run_state_name(to), cse_run_state_name(from));
    }
    const cse_job_transition transition = { .job = record->id,
                                            .time_ms = cse_unix_ms(),
                                            .attempt = record->attempt,
                                            .from = record->state,
                                            .to = to,
                                            .reason = reason,
                                            .message = message };
    if (jobs->db != NULL)
        status = cse_jobs_db_add_transition(jobs->db, &transition);
    if (status != CSE_OK)
        cse_log_line(CSE_LOG_ERROR, "job %s: %s; not recorded: %s, %s", record->id,
                     cse_error_message(), cse_run_state_name(to), message);
    notify(jobs, &transition);
    record->state = to;
    record->state_since_ms = transition.time_ms;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
    snprintf(record->message, sizeof record->message, "%s", message);
    return status;
}

/* ---- copies ---- */

void cse_job_copy(const cse_job_entry *entry, cse_job *job)
{
    for (int k = 0; k < CSE_DERIVED_KINDS; k++) {
        const cse_kept *kept = &entry->kept[k];
        const bool is_kept = entry->settled && kept->content != NULL;
        job->kept[k] = (cse_kept){ is_kept ? cse_strdup(kept->source) : NULL,
                                   is_kept ? json_incref(kept->content) : NULL };
    }
    job->warnings = NULL;
    job->record = entry->record;
    job->record.labels = cse_strdup(entry->record.labels);
    job->record.spec = cse_strdup(entry->record.spec);
    job->warnings = NULL;
    job->alive = entry->alive;
    job->settled = entry->settled;
    snprintf(job->waiting_for, sizeof job->waiting_for, "%s", entry->waiting_for);
}

static void forget(cse_kept kept[CSE_DERIVED_KINDS])
{
    for (int k = 0; k < CSE_DERIVED_KINDS; k++) {
        free(kept[k].source);
        json_decref(kept[k].content);
        kept[k] = (cse_kept){ .content = NULL };
    }
}

void cse_job_release(cse_job *job)
{
    cse_job_record_clear(&job->record);
    forget(job->kept);
}

void cse_job_entry_forget(cse_job_entry *entry)
{
    forget(entry->kept);
}

void cse_job_keep(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind, cse_kept kept)
{
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, job->record.id);
    if (entry != NULL && entry->settled && entry->record.attempt == job->record.attempt &&
        jobs->root != NULL) {
        cse_kept *place = &entry->kept[kind];
        free(place->source);
        json_decref(place->content);
        *place = (cse_kept){ cse_strdup(kept.source), json_incref(kept.content) };
    }
    pthread_mutex_unlock(&jobs->lock);
}

json_t *cse_job_kept(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind, const char *source)
{
    json_t *content = NULL;
    pthread_mutex_lock(&jobs->lock);
    const cse_job_entry *entry = cse_job_entry_find(jobs, job->record.id);
    if (entry != NULL && entry->kept[kind].content != NULL &&
        strcmp(entry->kept[kind].source, source) == 0)
        content = json_incref(entry->kept[kind].content);
    pthread_mutex_unlock(&jobs->lock);
    return content;
}

bool cse_jobs_next_unread(cse_jobs *jobs, int *at, cse_job *job)
{
    bool found = false;
    pthread_mutex_lock(&jobs->lock);
    for (; !found && *at < jobs->entry_count; (*at)++) {
        const cse_job_entry *entry = jobs->entries[*at];
        found = entry->settled && (entry->kept[CSE_DERIVED_FACTS].content == NULL ||
                                   entry->kept[CSE_DERIVED_VALUES].content == NULL);
        if (found)
            cse_job_copy(entry, job);
    }
    pthread_mutex_unlock(&jobs->lock);
    return found;
}

bool cse_jobs_find(cse_jobs *jobs, const char *id, cse_job *job)
{
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    if (entry != NULL) {
        if (entry->alive || jobs->root == NULL)
            cse_job_entry_refresh(jobs, entry);
        cse_job_copy(entry, job);
    }
    pthread_mutex_unlock(&jobs->lock);
    return entry != NULL;
}

void cse_jobs_each(cse_jobs *jobs, bool (*take)(void *self, const cse_job *job), void *self)
{
    pthread_mutex_lock(&jobs->lock);
    bool more = true;
    for (int i = jobs->entry_count - 1; i >= 0 && more; i--) {
        cse_job *job = cse_calloc(1, sizeof *job);
        if (jobs->root == NULL)
            cse_job_entry_refresh(jobs, jobs->entries[i]);
        cse_job_copy(jobs->entries[i], job);
        pthread_mutex_unlock(&jobs->lock);
        more = take(self, job);
        cse_job_release(job);
        free(job);
        pthread_mutex_lock(&jobs->lock);
        if (i > jobs->entry_count)
            i = jobs->entry_count;
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- small questions ---- */

bool cse_job_has_label(const cse_job_record *record, const char *key, const char *value)
{
    json_t *labels = record->labels != NULL ? json_loads(record->labels, 0, NULL) : NULL;
    const char *found = json_string_value(json_object_get(labels, key));
    const bool has = found != NULL && strcmp(found, value) == 0;
    json_decref(labels);
    return has;
}

bool cse_job_folder_is_gone(const cse_job_record *record)
{
    struct stat about;
    return stat(record->model_dir, &about) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

void cse_jobs_wake(cse_jobs *jobs)
{
    const uint64_t one = 1;
    ssize_t written =
        jobs->wake_descriptor >= 0 ? write(jobs->wake_descriptor, &one, sizeof one) : 0;
    (void)written;
}

bool cse_jobs_is_root(const cse_jobs *jobs)
{
    return jobs->root != NULL;
}

cse_jobs_db *cse_jobs_db_view(cse_jobs *jobs)
{
    return jobs->db;
}

const char *cse_jobs_directory_view(const cse_jobs *jobs)
{
    return jobs->root != NULL ? jobs->root : jobs->run_dir;
}

const char *cse_jobs_executable_view(const cse_jobs *jobs)
{
    return jobs->executable;
}

const cse_confinement *cse_jobs_confinement_view(const cse_jobs *jobs)
{
    return jobs->options.confinement;
}

cse_job_budget cse_jobs_budget(cse_jobs *jobs)
{
    cse_job_budget budget = { .cores = jobs->cores, .memory_bytes = jobs->memory_bytes };
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < jobs->entry_count; i++) {
        const cse_job_entry *entry = jobs->entries[i];
        if (entry->record.state >= 0 && entry->record.state < CSE_RUN_STATE_COUNT)
            budget.states[entry->record.state]++;
        if (!entry->alive)
            continue;
        budget.used_cores += entry->record.cores;
        budget.used_memory_bytes += entry->record.memory_bytes;
    }
    pthread_mutex_unlock(&jobs->lock);
    return budget;
}
