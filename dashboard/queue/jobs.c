/* Opening and closing the table: of a root, or of one run as its single entry. */
#include "dashboard/queue/jobs.h"

#include <dirent.h>
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

#include "dashboard/checks/labels.h"
#include "dashboard/queue/jobs_read_ahead.h"
#include "dashboard/queue/jobs_supervise.h"
#include "engine/base/arena.h"
#include "engine/base/build_identity.h"
#include "engine/base/log.h"
#include "engine/base/machine.h"

enum { RESERVE_BYTES = 256 << 10 };

static void add_entry(void *self, const cse_job_record *record)
{
    cse_job_entry_add(self, record);
}

/* A process that a server was starting as it was killed has the lock until it is that program. */
static bool take_lock(int file)
{
    enum { TRIES = 20, PAUSE_US = 50000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return true;
        usleep(PAUSE_US);
    }
    return false;
}

static cse_status lock_root(cse_jobs *jobs)
{
    char path[PATH_MAX];
    if (mkdir(jobs->root, 0700) != 0 && errno != EEXIST)
        return cse_fail(CSE_CANNOT_CREATE, "root %s: %s", jobs->root, strerror(errno));
    snprintf(path, sizeof path, "%s/server.lock", jobs->root);
    jobs->lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (jobs->lock_file < 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
    if (!take_lock(jobs->lock_file))
        return cse_fail(CSE_TEMPORARY,
                        "root %s: another server has it; %s/server.json says where it listens. "
                        "Use that one, or end it first",
                        jobs->root, jobs->root);
    return CSE_OK;
}

static bool is_entry(const cse_jobs *jobs, const char *folder)
{
    for (int i = 0; i < jobs->entry_count; i++)
        if (strcmp(jobs->entries[i]->record.model_dir, folder) == 0)
            return true;
    return false;
}

/* What the lost rows were of is still there: folders of runs that no job has. What was asked of
 * them stood in the rows alone, so that they are told, and not made jobs again. */
static void tell_mended(const cse_jobs *jobs, cse_text *told)
{
    char folder[PATH_MAX], store[PATH_MAX + 8];
    DIR *entries = opendir(jobs->root);
    int count = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || (size_t)snprintf(folder, sizeof folder, "%s/%s", jobs->root,
                                                        entry->d_name) >= sizeof folder)
            continue;
        snprintf(store, sizeof store, "%s/run.db", folder);
        if (access(store, F_OK) == 0 && !is_entry(jobs, folder))
            cse_text_add(told, "%s%s", count++ == 0 ? "; folders of runs without a job: " : ", ",
                         entry->d_name);
    }
    if (entries != NULL)
        closedir(entries);
    if (count > 0)
        cse_text_add(told, " (`csengine serve --run FOLDER` shows one, `csengine start` goes on)");
    cse_log_line(CSE_LOG_WARNING, "%s", told->data);
}

static cse_status open_root(cse_jobs *jobs)
{
    char path[PATH_MAX];
    CSE_TRY(lock_root(jobs));
    snprintf(path, sizeof path, "%s/jobs.db", jobs->root);
    cse_text mended = { 0 };
    cse_status status = cse_jobs_db_open(path, &jobs->db, &mended);
    if (status == CSE_OK)
        status = cse_jobs_db_each(jobs->db, add_entry, jobs);
    if (status == CSE_OK && mended.size > 0)
        tell_mended(jobs, &mended);
    cse_text_clear(&mended);
    CSE_TRY(status);
    cse_reserve_open(&jobs->reserve, jobs->root, "jobs.reserve", RESERVE_BYTES);
    jobs->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_lock(&jobs->lock);
    cse_jobs_adopt(jobs);
    pthread_mutex_unlock(&jobs->lock);
    snprintf(path, sizeof path, "%s/derived.db", jobs->root);
    jobs->derived = cse_derived_db_open(path);
    jobs->reads_ahead = pthread_create(&jobs->reading_thread, NULL, cse_jobs_read_ahead, jobs) == 0;
    jobs->supervised = pthread_create(&jobs->thread, NULL, cse_jobs_supervise, jobs) == 0;
    return jobs->supervised ? CSE_OK : cse_fail(CSE_TEMPORARY, "jobs: %s", strerror(errno));
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
    cse_job_id_from_path(real, record.id, sizeof record.id);
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
    if (cse_jobs_db_open(path, &jobs->db, NULL) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "calls are not recorded: %s", cse_error_message());
        jobs->db = NULL;
    }
    return CSE_OK;
}

/* Those that the operator gave, or what the machine has. */
static void take_limits(cse_jobs *jobs)
{
    const cse_jobs_options *o = &jobs->options;
    const cse_machine machine = cse_machine_look();
    int64_t cores = machine.cores;
    if (machine.quota_cores > 0 && machine.quota_cores < (double)cores)
        cores = (int64_t)machine.quota_cores;
    jobs->cores = o->cores > 0 ? o->cores : cores > 1 ? cores : 1;
    jobs->memory_bytes = o->memory_bytes > 0 ? o->memory_bytes : machine.memory_bytes;
}

static char *build_name(void)
{
    unsigned char build[CSE_BUILD_IDENTITY_BYTES];
    char name[2 * CSE_BUILD_IDENTITY_BYTES + 1];
    sodium_bin2hex(name, sizeof name, build, cse_build_identity(build));
    return cse_strdup(name);
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
    take_limits(jobs);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->reading_wake, NULL);
    for (int i = 0; i < CSE_JOB_READINGS; i++)
        pthread_mutex_init(&jobs->reading[i], NULL);
    jobs->build = build_name();
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
    pthread_cond_signal(&jobs->reading_wake);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->reads_ahead)
        pthread_join(jobs->reading_thread, NULL);
    if (jobs->supervised) {
        cse_jobs_wake(jobs);
        pthread_join(jobs->thread, NULL);
    }
    for (int i = 0; i < jobs->entry_count; i++) {
        if (jobs->entries[i]->descriptor >= 0)
            close(jobs->entries[i]->descriptor);
        cse_job_record_clear(&jobs->entries[i]->record);
        cse_job_entry_forget(jobs->entries[i]);
        free(jobs->entries[i]);
    }
    free(jobs->entries);
    cse_jobs_db_close(&jobs->db);
    cse_derived_db_close(&jobs->derived);
    if (jobs->wake_descriptor >= 0)
        close(jobs->wake_descriptor);
    if (jobs->lock_file >= 0)
        close(jobs->lock_file);
    pthread_cond_destroy(&jobs->reading_wake);
    for (int i = 0; i < CSE_JOB_READINGS; i++)
        pthread_mutex_destroy(&jobs->reading[i]);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs->build);
    free(jobs->root);
    free(jobs->reserve.path);
    free(jobs->run_dir);
    free(jobs->executable);
    free(jobs);
}
