/* Creating a job is atomic: its configuration is in its directory before its row is in jobs.db, and
 * a directory without a row, left by a server that was killed, is reused. */
#include "dashboard/queue/job_create.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/checks/job_program.h"
#include "dashboard/checks/labels.h"
#include "dashboard/jobs/fork_source.h"
#include "dashboard/jobs/job_launcher.h"
#include "dashboard/jobs/jobs_origin.h"
#include "dashboard/queue/job_check.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"

void cse_job_id_from_path(const char *path, char *id, size_t size)
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
    cse_job_id_from_path(name != NULL ? name : "job", slug, sizeof slug - 8);
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

/* Makes the record of a requested job. */
static void fill_record(cse_jobs *jobs, const cse_job_request *request,
                        const cse_config_facts *facts, const cse_job_demand *demand,
                        cse_job_record *r)
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
    json_object_update(labels, json_object_get(spec, "labels")); /* these take precedence */
    r->labels = json_dumps(labels, JSON_COMPACT);
    json_decref(labels);
    json_object_del(rest, "config"); /* it is in the job's directory */
    json_object_del(rest, "name");
    json_object_del(rest, "labels");
    json_object_del(rest, "priority");
    r->spec = json_dumps(rest, JSON_COMPACT);
    json_decref(rest);
    r->priority = priority != NULL ? priority[1] - '0' : facts->priority;
    if (r->priority == 0 && priority == NULL)
        r->priority = 2;
    r->cores = demand->cores;
    r->memory_bytes = demand->memory_bytes;
    if (request->grant != NULL)
        snprintf(r->owner, sizeof r->owner, "%s", request->grant->name);
    r->max_num_restarts = member(spec, "restart_policy", "max_num_restarts");
    r->state = CSE_RUN_NONE;
    r->exit_code = -1;
    r->created_ms = cse_unix_ms();
    snprintf(r->model_dir, sizeof r->model_dir, "%s/%s", jobs->root, r->id);
}

/* Makes the job's directory. One that holds only a configuration was left by a server that was
 * killed before the job was in jobs.db. */
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

/* Writes the configuration as it was sent, atomically. */
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

/* A job that could not be created leaves nothing on the disk. */
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
    cse_job_copy(entry, job);
    return CSE_JOB_KNOWN;
}

static cse_status insert_job(cse_jobs *jobs, const cse_job_request *request, cse_job_record *record,
                             cse_job *job)
{
    const char *config = json_string_value(json_object_get(request->spec, "config"));
    char *described = config == NULL ? cse_job_program_text(request->spec) : NULL;
    cse_status status = write_config(record, config != NULL ? config : described);
    free(described);
    CSE_TRY(status);
    record->state = CSE_RUN_QUEUED; /* with its row: a server that is killed here has a job */
    status = cse_jobs_db_insert(jobs->db, record);
    record->state = CSE_RUN_NONE;
    if (status != CSE_OK) {
        drop_config(record);
        return status;
    }
    cse_job_entry *entry = cse_job_entry_add(jobs, record);
    cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "", "created");
    cse_job_entry_save(jobs, entry);
    snprintf(entry->waiting_for, sizeof entry->waiting_for, "the queue to be looked at");
    cse_job_copy(entry, job);
    return CSE_OK;
}

/* Whether the checkpoint to start from, if any, exists or may still be written, and the run to fork
 * is there. */
static bool has_origin(cse_jobs *jobs, const cse_job_request *request, cse_status *error)
{
    char folder[CSE_JOB_PATH_BYTES];
    const json_t *from = json_object_get(request->spec, "resume_from");
    const json_t *forked = json_object_get(request->spec, "fork_from");
    cse_text path = { 0 };
    *error = from != NULL ? cse_job_origin_find(jobs, from, true, &path) : CSE_OK;
    cse_text_clear(&path);
    if (*error == CSE_OK && forked != NULL)
        *error = cse_fork_source_find(jobs, forked, request->grant, folder);
    if (*error == CSE_OK && forked != NULL)
        *error = cse_fork_source_check(folder, forked);
    return *error == CSE_OK;
}

/* With the lock held, once the request was found right. */
static cse_job_outcome take_job(cse_jobs *jobs, const cse_job_request *request,
                                cse_job_record *record, cse_job *job, cse_status *error)
{
    const cse_job_outcome outcome = known_job(jobs, request, record->digest, job);
    if (outcome != CSE_JOB_CREATED)
        return outcome;
    if (!has_origin(jobs, request, error))
        return CSE_JOB_NO_ORIGIN;
    *error = cse_job_account_count(jobs, request->grant);
    if (*error != CSE_OK)
        return CSE_JOB_TOO_MANY;
    *error = cse_jobs_check_room(jobs);
    if (*error == CSE_OK)
        *error = insert_job(jobs, request, record, job);
    return *error == CSE_OK ? CSE_JOB_CREATED : CSE_JOB_ERROR;
}

/* A client that chooses the id can name paths below the job's own folder, which must be there to be
 * checked. False: it is somebody's, or cannot be made, as its creation will tell. */
static bool make_folder(const cse_jobs *jobs, const cse_job_request *request,
                        char folder[CSE_JOB_PATH_BYTES])
{
    return request->id != NULL &&
           snprintf(folder, CSE_JOB_PATH_BYTES, "%s/%s", jobs->root, request->id) <
               CSE_JOB_PATH_BYTES &&
           mkdir(folder, 0777) == 0;
}

/* What a check has found of a request. */
typedef struct checked {
    const cse_check_result *found; /* the caller's */
    cse_config_facts facts;
    cse_job_demand demand;
} checked;

static cse_status check_request(cse_jobs *jobs, const cse_job_request *request, checked *c)
{
    char folder[CSE_JOB_PATH_BYTES];
    const bool made = make_folder(jobs, request, folder);
    const cse_job_check check = { .spec = request->spec,
                                  .folder = made ? folder : NULL,
                                  .grant = request->grant,
                                  .client = request->client };
    cse_status status = cse_job_check_spec(jobs, &check, c->found, &c->facts, &c->demand);
    if (made) /* its creation makes it anew */
        rmdir(folder);
    return status;
}

cse_job_outcome cse_jobs_create(cse_jobs *jobs, const cse_job_request *request, cse_job *job,
                                const cse_check_result *found, cse_status *error)
{
    if (jobs->root == NULL) {
        *error =
            cse_fail(CSE_UNAVAILABLE, "this server shows one run and has no queue; start one with "
                                      "csengine serve --root DIR");
        return CSE_JOB_ERROR;
    }
    if (request->id != NULL && strcmp(request->id, "sweeps") == 0) {
        *error =
            cse_fail(CSE_USAGE, "\"sweeps\" is the folder of sweeps in the server's root: give "
                                "the job another id");
        return CSE_JOB_ERROR;
    }
    cse_job_record *record = cse_calloc(1, sizeof *record);
    digest_of(request->spec, record->digest);
    pthread_mutex_lock(&jobs->lock);
    cse_job_outcome outcome = known_job(jobs, request, record->digest, job);
    pthread_mutex_unlock(&jobs->lock);
    checked c = { .found = found };
    if (outcome == CSE_JOB_CREATED)
        *error = check_request(jobs, request, &c);
    if (outcome == CSE_JOB_CREATED && *error != CSE_OK)
        outcome = CSE_JOB_ERROR;
    if (outcome == CSE_JOB_CREATED && json_array_size(found->diagnostics) > 0)
        outcome = CSE_JOB_WRONG;
    if (outcome == CSE_JOB_CREATED) {
        pthread_mutex_lock(&jobs->lock);
        fill_record(jobs, request, &c.facts, &c.demand, record);
        outcome = take_job(jobs, request, record, job, error);
        pthread_mutex_unlock(&jobs->lock);
    }
    cse_config_facts_clear(&c.facts);
    cse_job_record_clear(record);
    free(record);
    cse_jobs_wake(jobs);
    return outcome;
}
