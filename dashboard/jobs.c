/* The table of jobs in memory, with jobs.db behind it. */
#include "dashboard/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/jobs_internal.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"

enum { RESERVE_BYTES = 256 << 10 };

/* ---- entries ---- */

cse_job_entry *cse_job_entry_find(cse_jobs *jobs, const char *id)
{
    for (int i = 0; id != NULL && i < jobs->entry_count; i++)
        if (strcmp(jobs->entries[i]->record.id, id) == 0)
            return jobs->entries[i];
    return NULL;
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

static bool reserve_path(const cse_jobs *jobs, char path[PATH_MAX])
{
    return jobs->root != NULL &&
           (size_t)snprintf(path, PATH_MAX, "%s/jobs.reserve", jobs->root) < PATH_MAX;
}

void cse_jobs_reserve_make(cse_jobs *jobs)
{
    char path[PATH_MAX];
    int file = reserve_path(jobs, path) ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    if (posix_fallocate(file, 0, RESERVE_BYTES) != 0)
        unlink(path);
    close(file);
}

void cse_jobs_reserve_release(cse_jobs *jobs)
{
    char path[PATH_MAX];
    if (reserve_path(jobs, path))
        unlink(path);
}

/* What the run says of itself is not told again: it tells its own changes. */
static void take_status(cse_job_record *record, const cse_run_status *status)
{
    record->state = status->state;
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
    if (cse_store_reader_status(reader, &status) == CSE_OK && status.state != CSE_RUN_NONE) {
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

static void tell(cse_jobs *jobs, const cse_job_transition *t)
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
    /* A new attempt begins where a state may stand first. */
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
    tell(jobs, &transition);
    record->state = to;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
    snprintf(record->message, sizeof record->message, "%s", message);
    return status;
}

/* ---- copies ---- */

static void copy_job(const cse_job_entry *entry, cse_job *job)
{
    bool facts = entry->settled && entry->facts != NULL;
    job->facts = facts ? cse_strdup(entry->facts) : NULL;
    job->record = entry->record;
    job->record.labels = cse_strdup(entry->record.labels);
    job->record.spec = cse_strdup(entry->record.spec);
    job->alive = entry->alive;
    job->settled = entry->settled;
    snprintf(job->waiting_for, sizeof job->waiting_for, "%s", entry->waiting_for);
}

void cse_job_release(cse_job *job)
{
    cse_job_record_clear(&job->record);
    free(job->facts);
    job->facts = NULL;
}

void cse_job_keep_facts(cse_jobs *jobs, const cse_job *job, const json_t *facts)
{
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, job->record.id);
    if (entry != NULL && entry->settled && entry->record.attempt == job->record.attempt &&
        jobs->root != NULL) {
        free(entry->facts);
        entry->facts = json_dumps(facts, JSON_COMPACT);
    }
    pthread_mutex_unlock(&jobs->lock);
}

bool cse_jobs_find(cse_jobs *jobs, const char *id, cse_job *job)
{
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    if (entry != NULL) {
        if (entry->alive || jobs->root == NULL)
            cse_job_entry_refresh(jobs, entry);
        copy_job(entry, job);
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
        copy_job(jobs->entries[i], job);
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

/* ---- opening ---- */

static void add_entry(void *self, const cse_job_record *record)
{
    cse_jobs *jobs = self;
    cse_job_entry *entry = cse_calloc(1, sizeof *entry);
    entry->record = *record;
    entry->record.labels = cse_strdup(record->labels != NULL ? record->labels : "{}");
    entry->record.spec = cse_strdup(record->spec != NULL ? record->spec : "{}");
    entry->descriptor = -1;
    CSE_GROW(jobs->entries, jobs->entry_count, jobs->entry_capacity);
    jobs->entries[jobs->entry_count++] = entry;
}

static cse_status lock_root(cse_jobs *jobs)
{
    char path[PATH_MAX];
    if (mkdir(jobs->root, 0777) != 0 && errno != EEXIST)
        return cse_fail(CSE_CANNOT_CREATE, "root %s: %s", jobs->root, strerror(errno));
    snprintf(path, sizeof path, "%s/server.lock", jobs->root);
    jobs->lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (jobs->lock_file < 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
    if (flock(jobs->lock_file, LOCK_EX | LOCK_NB) != 0)
        return cse_fail(CSE_TEMPORARY,
                        "root %s: another server has it; %s/server.json says where it listens. "
                        "Use that one, or end it first",
                        jobs->root, jobs->root);
    return CSE_OK;
}

static cse_status open_root(cse_jobs *jobs)
{
    char path[PATH_MAX];
    CSE_TRY(lock_root(jobs));
    snprintf(path, sizeof path, "%s/jobs.db", jobs->root);
    CSE_TRY(cse_jobs_db_open(path, &jobs->db));
    CSE_TRY(cse_jobs_db_each(jobs->db, add_entry, jobs));
    cse_jobs_reserve_make(jobs);
    jobs->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_lock(&jobs->lock);
    cse_jobs_adopt(jobs);
    pthread_mutex_unlock(&jobs->lock);
    jobs->supervised = pthread_create(&jobs->thread, NULL, cse_jobs_supervise, jobs) == 0;
    return jobs->supervised ? CSE_OK : cse_fail(CSE_TEMPORARY, "jobs: %s", strerror(errno));
}

/* The id that a directory's name gives. */
static void id_from_path(const char *path, char *id, size_t size)
{
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    size_t n = 0;
    for (const char *c = name; *c != '\0' && n + 1 < size; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || (n > 0 && strchr("._-", *c) != NULL);
        if (plain)
            id[n++] = *c;
        else if (n > 0)
            id[n++] = '-';
    }
    id[n] = '\0';
    if (n == 0)
        snprintf(id, size, "run");
}

static void read_key(cse_store_reader *reader, const char *key, char *to, size_t size)
{
    cse_text text = { 0 };
    if (cse_store_reader_key(reader, key, &text) && text.size > 0)
        snprintf(to, size, "%s", text.data);
    cse_text_clear(&text);
}

static cse_status open_run(cse_jobs *jobs)
{
    char path[PATH_MAX], real[PATH_MAX], number[32] = "0";
    cse_job_record record = { .seq = 1, .state = CSE_RUN_QUEUED, .exit_code = -1, .priority = 2 };
    cse_store_reader *reader = NULL;
    CSE_TRY(cse_readers_borrow(jobs->options.readers, jobs->run_dir, &reader));
    if (realpath(jobs->run_dir, real) == NULL)
        snprintf(real, sizeof real, "%s", jobs->run_dir);
    id_from_path(real, record.id, sizeof record.id);
    snprintf(record.name, sizeof record.name, "%s", record.id);
    snprintf(record.model_dir, sizeof record.model_dir, "%s", jobs->run_dir);
    read_key(reader, "name", record.name, sizeof record.name);
    read_key(reader, "created_ms", number, sizeof number);
    record.created_ms = strtoll(number, NULL, 10);
    cse_text labels = { 0 };
    if (cse_store_reader_key(reader, "labels", &labels)) {
        json_t *words = json_loads(labels.data != NULL ? labels.data : "[]", 0, NULL);
        json_t *object = cse_labels_from_words(words);
        record.labels = json_dumps(object, JSON_COMPACT);
        json_decref(object);
        json_decref(words);
    }
    cse_readers_give_back(jobs->options.readers, jobs->run_dir, &reader);
    add_entry(jobs, &record);
    cse_job_record_clear(&record);
    cse_text_clear(&labels);
    if (jobs->options.read_only)
        return CSE_OK;
    snprintf(path, sizeof path, "%s/dashboard.db", jobs->run_dir);
    if (cse_jobs_db_open(path, &jobs->db) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "calls are not recorded: %s", cse_error_message());
        jobs->db = NULL;
    }
    return CSE_OK;
}

cse_status cse_jobs_open(const cse_jobs_options *options, cse_jobs **result)
{
    cse_jobs *jobs = cse_calloc(1, sizeof *jobs);
    *result = jobs;
    jobs->options = *options;
    jobs->lock_file = jobs->wake_descriptor = -1;
    jobs->root = options->root != NULL ? realpath(options->root, NULL) : NULL;
    if (options->root != NULL && jobs->root == NULL)
        jobs->root = cse_strdup(options->root);
    jobs->run_dir = options->run_dir != NULL ? cse_strdup(options->run_dir) : NULL;
    jobs->executable = cse_strdup(options->executable != NULL ? options->executable : "csengine");
    jobs->cores = options->cores > 0 ? options->cores : sysconf(_SC_NPROCESSORS_ONLN);
    jobs->memory_bytes = options->memory_bytes > 0
                             ? options->memory_bytes
                             : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
    pthread_mutex_init(&jobs->lock, NULL);
    cse_status status = jobs->root != NULL ? open_root(jobs) : open_run(jobs);
    if (status != CSE_OK)
        cse_jobs_close(result);
    return status;
}

void cse_jobs_close(cse_jobs **result)
{
    cse_jobs *jobs = *result;
    if (jobs == NULL)
        return;
    *result = NULL;
    pthread_mutex_lock(&jobs->lock);
    jobs->ending = true;
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->supervised) {
        cse_jobs_nudge(jobs);
        pthread_join(jobs->thread, NULL);
    }
    for (int i = 0; i < jobs->entry_count; i++) {
        if (jobs->entries[i]->descriptor >= 0)
            close(jobs->entries[i]->descriptor);
        cse_job_record_clear(&jobs->entries[i]->record);
        free(jobs->entries[i]->facts);
        free(jobs->entries[i]);
    }
    free(jobs->entries);
    cse_jobs_db_close(&jobs->db);
    if (jobs->wake_descriptor >= 0)
        close(jobs->wake_descriptor);
    if (jobs->lock_file >= 0)
        close(jobs->lock_file);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs->root);
    free(jobs->run_dir);
    free(jobs->executable);
    free(jobs);
}

/* ---- creating ---- */

static void digest_of(const json_t *spec, char digest[65])
{
    unsigned char bytes[32];
    char *text = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
    crypto_generichash(bytes, sizeof bytes, (const unsigned char *)(text != NULL ? text : ""),
                       text != NULL ? strlen(text) : 0, NULL, 0);
    sodium_bin2hex(digest, 65, bytes, sizeof bytes);
    free(text);
}

static void choose_id(cse_jobs *jobs, const char *name, char *id)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    char slug[32];
    id_from_path(name != NULL ? name : "job", slug, sizeof slug - 8);
    do {
        size_t n = (size_t)snprintf(id, CSE_JOB_ID_BYTES, "%s-", slug);
        for (int i = 0; i < 6; i++)
            id[n++] = letters[randombytes_uniform(sizeof letters - 1)];
        id[n] = '\0';
    } while (cse_job_entry_find(jobs, id) != NULL);
}

static int64_t member(const json_t *object, const char *first, const char *second)
{
    return json_integer_value(json_object_get(json_object_get(object, first), second));
}

/* All that is asked for, as a record. */
static void fill_record(cse_jobs *jobs, const cse_job_request *request,
                        const cse_config_facts *facts, cse_job_record *r)
{
    const json_t *spec = request->spec;
    const char *name = json_string_value(json_object_get(spec, "name"));
    const char *priority = json_string_value(json_object_get(spec, "priority"));
    json_t *rest = json_copy((json_t *)(uintptr_t)spec);
    if (request->id != NULL)
        snprintf(r->id, sizeof r->id, "%s", request->id);
    else
        choose_id(jobs, name, r->id);
    snprintf(r->name, sizeof r->name, "%s", name != NULL ? name : r->id);
    json_t *labels = cse_labels_from_words(facts->label_words);
    json_object_update(labels, json_object_get(spec, "labels")); /* which win */
    r->labels = json_dumps(labels, JSON_COMPACT);
    json_decref(labels);
    json_object_del(rest, "config"); /* it lies beside the run */
    json_object_del(rest, "name");
    json_object_del(rest, "labels");
    json_object_del(rest, "priority");
    r->spec = json_dumps(rest, JSON_COMPACT);
    json_decref(rest);
    r->priority = priority != NULL ? priority[1] - '0' : 2;
    r->cores = member(spec, "resources", "cores");
    if (r->cores == 0)
        r->cores = facts->num_csx > 0 ? facts->num_csx : 1;
    r->memory_bytes = member(spec, "resources", "memory_bytes");
    r->max_num_restarts = member(spec, "restart_policy", "max_num_restarts");
    r->state = CSE_RUN_NONE;
    r->exit_code = -1;
    r->created_ms = cse_unix_ms();
    snprintf(r->model_dir, sizeof r->model_dir, "%s/%s", jobs->root, r->id);
}

/* A directory of the job's own. One that holds no more than a configuration is what is left of a
 * server that was killed before the job was in its table. */
static cse_status make_directory(const char *model_dir, const char *path, const char *part)
{
    if (mkdir(model_dir, 0777) == 0)
        return CSE_OK;
    if (errno == EEXIST) {
        unlink(path);
        unlink(part);
        if (rmdir(model_dir) == 0 && mkdir(model_dir, 0777) == 0)
            return CSE_OK;
        errno = EEXIST;
    }
    return cse_fail(errno == EEXIST ? CSE_USAGE : CSE_CANNOT_CREATE, "%s: %s", model_dir,
                    strerror(errno));
}

/* The configuration as it was sent, whole or not at all. */
static cse_status write_config(const cse_job_record *record, const char *config)
{
    char path[PATH_MAX], part[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/submitted.yaml", record->model_dir);
    snprintf(part, sizeof part, "%.4000s/submitted.yaml.part", record->model_dir);
    CSE_TRY(make_directory(record->model_dir, path, part));
    FILE *file = fopen(part, "we");
    bool written =
        file != NULL && fputs(config, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int code = errno;
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (written && rename(part, path) == 0)
        return CSE_OK;
    unlink(part);
    rmdir(record->model_dir);
    return cse_fail(CSE_IO, "%s: %s", path, strerror(code));
}

/* A job that never came to be leaves nothing on the disk. */
static void drop_config(const cse_job_record *record)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/submitted.yaml", record->model_dir);
    unlink(path);
    rmdir(record->model_dir);
}

static cse_job_outcome known_job(cse_jobs *jobs, const cse_job_request *request, const char *digest,
                                 cse_job *job)
{
    cse_job_entry *entry = cse_job_entry_find(jobs, request->id);
    if (entry == NULL)
        return CSE_JOB_CREATED;
    if (strcmp(entry->record.digest, digest) != 0)
        return CSE_JOB_TAKEN;
    copy_job(entry, job);
    return CSE_JOB_KNOWN;
}

static cse_status insert_job(cse_jobs *jobs, const cse_job_request *request, cse_job_record *record,
                             cse_job *job)
{
    const char *config = json_string_value(json_object_get(request->spec, "config"));
    CSE_TRY(write_config(record, config));
    cse_status status = cse_jobs_db_insert(jobs->db, record);
    if (status != CSE_OK) {
        drop_config(record);
        return status;
    }
    add_entry(jobs, record);
    cse_job_entry *entry = jobs->entries[jobs->entry_count - 1];
    cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "", "created");
    cse_job_entry_save(jobs, entry);
    snprintf(entry->waiting_for, sizeof entry->waiting_for, "the queue to be looked at");
    copy_job(entry, job);
    return CSE_OK;
}

/* What it is to start from, if anything, is there or may still come. */
static bool has_origin(cse_jobs *jobs, const json_t *spec, cse_status *error)
{
    const json_t *from = json_object_get(spec, "resume_from");
    cse_text path = { 0 };
    *error = from != NULL ? cse_job_origin_find(jobs, from, true, &path) : CSE_OK;
    cse_text_clear(&path);
    return *error == CSE_OK;
}

cse_job_outcome cse_jobs_create(cse_jobs *jobs, const cse_job_request *request, cse_job *job,
                                json_t *diagnostics, cse_status *error)
{
    char digest[65];
    cse_config_facts facts = { .num_csx = 1 };
    if (jobs->root == NULL) {
        *error =
            cse_fail(CSE_UNAVAILABLE, "this server shows one run and has no queue; start one with "
                                      "csengine serve --root DIR");
        return CSE_JOB_ERROR;
    }
    digest_of(request->spec, digest);
    pthread_mutex_lock(&jobs->lock);
    cse_job_outcome outcome = known_job(jobs, request, digest, job);
    pthread_mutex_unlock(&jobs->lock);
    if (outcome != CSE_JOB_CREATED)
        return outcome;
    const char *config = json_string_value(json_object_get(request->spec, "config"));
    const json_t *overrides = json_object_get(request->spec, "overrides");
    if (!cse_check_settings(config, overrides, diagnostics, &facts))
        return CSE_JOB_WRONG;
    cse_job_record *record = cse_calloc(1, sizeof *record);
    pthread_mutex_lock(&jobs->lock);
    outcome = known_job(jobs, request, digest, job);
    if (outcome == CSE_JOB_CREATED && !has_origin(jobs, request->spec, error))
        outcome = CSE_JOB_NO_ORIGIN;
    if (outcome == CSE_JOB_CREATED) {
        fill_record(jobs, request, &facts, record);
        memcpy(record->digest, digest, sizeof record->digest);
        *error = cse_jobs_check_room(jobs);
        if (*error == CSE_OK)
            *error = insert_job(jobs, request, record, job);
        outcome = *error == CSE_OK ? CSE_JOB_CREATED : CSE_JOB_ERROR;
    }
    pthread_mutex_unlock(&jobs->lock);
    json_decref(facts.label_words);
    cse_job_record_clear(record);
    free(record);
    cse_jobs_nudge(jobs);
    return outcome;
}

/* ---- small questions ---- */

void cse_jobs_nudge(cse_jobs *jobs)
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
