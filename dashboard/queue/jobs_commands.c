/* What may be done to a job: commands to its run, changes of its name, labels and priority,
 * removal.
 *
 * A command is sent to the run's coordinator, which answers at once; its effect shows later in the
 * run's state. A run that cannot be reached (it compiles, or its coordinator hangs) can still be
 * ended by signals. */
#include "dashboard/queue/jobs_commands.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/jobs/job_launcher.h"
#include "dashboard/queue/jobs_launch.h"
#include "dashboard/queue/jobs_scale.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "workers/batch/batch_control.h"
#include "workers/control/control_client.h"

const char *const cse_job_commands[] = { "pause", "resume", "checkpoint", "cancel",
                                         "kill",  "scale",  NULL };

/* The states in which a command makes sense. */
#define IN(state) (1u << CSE_RUN_##state)
enum {
    STANDING = IN(PAUSING) | IN(PAUSED),
    TAKING_STEPS = STANDING | IN(RUNNING) | IN(RECOVERING),
    NOT_ENDED = TAKING_STEPS | IN(QUEUED) | IN(COMPILING) | IN(STARTING) | IN(CANCELLING),
};

static const struct {
    const char *command;
    unsigned states;
} accepted[] = {
    { "pause", TAKING_STEPS },
    { "resume", STANDING | IN(RUNNING) },
    { "checkpoint", STANDING | IN(RUNNING) },
    { "cancel", NOT_ENDED | IN(CANCELLED) },
    { "kill", NOT_ENDED | IN(CANCELLED) },
    { "scale", IN(RUNNING) | IN(PAUSED) },
};

static bool is_allowed(const char *command, cse_run_state state)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        if (strcmp(accepted[i].command, command) == 0)
            return state != CSE_RUN_NONE && (accepted[i].states >> state & 1) != 0;
    return false;
}

bool cse_job_can(const cse_jobs *jobs, const cse_job *job, const char *command)
{
    cse_run_state state = job->record.state;
    if (strcmp(command, "resume") == 0 && job->settled)
        return jobs->root != NULL && state != CSE_RUN_SUCCEEDED && /* that has done all steps */
               !cse_job_folder_is_gone(&job->record);
    /* A command that would have no effect is not offered, though it is accepted. */
    bool stands = state == CSE_RUN_PAUSING || state == CSE_RUN_PAUSED;
    if (cse_run_state_is_terminal(state) || (strcmp(command, "resume") == 0 && !stands) ||
        (strcmp(command, "pause") == 0 && stands) ||
        (strcmp(command, "cancel") == 0 && state == CSE_RUN_CANCELLING))
        return false;
    return is_allowed(command, job->record.state) &&
           (job->alive || strcmp(command, "cancel") == 0 || strcmp(command, "kill") == 0);
}

/* ---- the run's process ---- */

typedef struct run_place {
    const char *batch_dir; /* of a run that Slurm has as a batch job; NULL: it is on this host */
    char endpoint[256], host[72];
    int64_t pid;   /* of the coordinator, while it lives; 0 */
    int64_t first; /* of the process that would start another coordinator; 0 */
} run_place;

static run_place find_run(cse_jobs *jobs, const char *model_dir)
{
    run_place place = { .pid = 0 };
    cse_text endpoint = { 0 }, host = { 0 }, pid = { 0 }, first = { 0 };
    cse_run_status status;
    cse_store_reader *reader = NULL;
    if (cse_readers_borrow(jobs->options.readers, model_dir, &reader) != CSE_OK)
        return place;
    if (cse_store_reader_status(reader, &status) == CSE_OK && status.alive) {
        if (cse_store_reader_key(reader, "control_endpoint", &endpoint))
            snprintf(place.endpoint, sizeof place.endpoint, "%s", endpoint.data);
        if (cse_store_reader_key(reader, "host", &host))
            snprintf(place.host, sizeof place.host, "%s", host.data);
        if (cse_store_reader_key(reader, "pid", &pid))
            place.pid = strtoll(pid.data, NULL, 10);
        if (cse_store_reader_key(reader, "first_pid", &first))
            place.first = strtoll(first.data, NULL, 10);
    }
    cse_readers_give_back(jobs->options.readers, model_dir, &reader);
    cse_text_clear(&endpoint);
    cse_text_clear(&host);
    cse_text_clear(&pid);
    cse_text_clear(&first);
    return place;
}

/* The supervisor of the coordinator: the process that the server has started, or, in name spaces,
 * the one that this has started; 0: the coordinator is another job's. */
static int64_t find_supervisor(const run_place *place, const cse_job_record *record)
{
    const int64_t parent = place->pid > 0 ? cse_process_parent(place->pid) : 0;
    if (record->pid <= 0)
        return parent == place->first ? parent : 0;
    const bool is_own =
        parent == record->pid || (parent > 0 && cse_process_parent(parent) == record->pid);
    return is_own ? parent : 0;
}

/* Ends a run that no message reaches. The supervisor cleans up after a coordinator that is
 * killed, and starts no other one after SIGTERM. The numbers of the run store are the job's own
 * words: none is believed that is not the coordinator of that supervisor. */
static cse_status signal_run(const run_place *place, const cse_job_record *record, int number)
{
    const int64_t found = find_supervisor(place, record);
    const int64_t supervisor = found > 0 ? found : record->pid;
    const int64_t coordinator = record->pid > 0 && found == 0 ? 0 : place->pid;
    int64_t pid = number == SIGKILL && coordinator > 0 ? coordinator : record->pid;
    if (pid == 0)
        pid = coordinator;
    if (pid <= 1)
        return cse_fail(CSE_UNAVAILABLE, "the run's process cannot be found");
    if (number == SIGKILL && supervisor > 1 && supervisor != pid)
        kill((pid_t)supervisor, SIGTERM);
    if (kill((pid_t)pid, number) != 0 && errno != ESRCH)
        return cse_fail(CSE_PERMISSION, "process %lld: %s", (long long)pid, strerror(errno));
    return CSE_OK;
}

/* A process that waits for a batch job cannot end it when it is killed: it is asked to. */
static cse_status kill_run(const run_place *place, const cse_job_record *record, bool batch)
{
    const bool asks = batch && record->pid > 0;
    return signal_run(asks ? &(run_place){ .pid = 0 } : place, record, asks ? SIGQUIT : SIGKILL);
}

void cse_job_entry_kill(cse_jobs *jobs, const cse_job_entry *entry)
{
    run_place place = find_run(jobs, entry->record.model_dir);
    kill_run(&place, &entry->record, entry->batch);
}

/* ---- commands ---- */

static cse_status refuse(const cse_jobs *jobs, const cse_job_entry *entry, const char *command)
{
    const cse_job_record *record = &entry->record;
    /* The run store says that a run has ended before its process has. */
    if (strcmp(command, "resume") == 0 && cse_run_state_is_terminal(record->state) &&
        !entry->settled && jobs->root != NULL)
        return cse_fail(CSE_TEMPORARY,
                        "job \"%s\" is %s, and its process is about to end; try again in a moment",
                        record->id, cse_run_state_name(record->state));
    return cse_fail(CSE_USAGE, "job \"%s\" is %s: %s makes no sense then", record->id,
                    cse_run_state_name(record->state), command);
}

/* The job may have been taken by a server, or with a token, that had more to give. */
static cse_status may_resume(cse_jobs *jobs, const cse_job_record *record)
{
    if (cse_job_folder_is_gone(record))
        return cse_fail(CSE_USAGE,
                        "job \"%s\" cannot be resumed: its folder %s was removed, with its "
                        "configuration and checkpoints; put it back, or submit the job under "
                        "another id",
                        record->id, record->model_dir);
    CSE_TRY(cse_jobs_check_room(jobs));
    if (cse_job_account_may_ever(jobs, record) != CSE_OK)
        return cse_fail(CSE_USAGE, "job \"%s\" would wait for ever for %s", record->id,
                        cse_error_message());
    return cse_job_account_count(jobs, cse_jobs_grant(jobs, record->owner));
}

/* The newest checkpoint of a run; -1: it has none. */
static int64_t newest_checkpoint(const char *model_dir)
{
    int64_t *steps = NULL, newest = -1;
    int count = 0;
    if (cse_checkpoint_steps(model_dir, &steps, &count) == CSE_OK)
        for (int i = 0; i < count; i++)
            newest = steps[i] > newest ? steps[i] : newest;
    free(steps);
    return newest;
}

/* What a new attempt will do: from where it goes on, and why it may end as the one before. */
static void describe_start(const cse_job_record *record, char detail[256])
{
    const int64_t step = newest_checkpoint(record->model_dir);
    int length = step >= 0 ? snprintf(detail, 256,
                                      "queued again; it goes on from its checkpoint of "
                                      "step %lld",
                                      (long long)step)
                           : snprintf(detail, 256,
                                      "queued again; it has no checkpoint and begins "
                                      "anew");
    if (record->state == CSE_RUN_FAILED &&
        !cse_run_reason_retryable(cse_run_reason_of(record->reason)))
        snprintf(detail + length, 256 - (size_t)length,
                 "; it failed (%s: %.60s) and will fail again unless the cause is gone",
                 record->reason, record->message);
}

static cse_status refuse_complete(cse_jobs *jobs, const cse_job_record *record)
{
    cse_store_reader *reader = NULL;
    cse_text steps = { 0 };
    if (cse_readers_borrow(jobs->options.readers, record->model_dir, &reader) == CSE_OK)
        cse_store_reader_key(reader, "last_step", &steps);
    cse_readers_give_back(jobs->options.readers, record->model_dir, &reader);
    cse_status status =
        cse_fail(CSE_USAGE,
                 "job \"%s\" is complete: %s%s%s done; to train on, submit it with more steps and "
                 "resume_from it",
                 record->id, steps.size > 0 ? "all " : "all of it is",
                 steps.size > 0 ? steps.data : "", steps.size > 0 ? " steps are" : "");
    cse_text_clear(&steps);
    return status;
}

/* With the lock held: commands that need no process. True when it is done, or cannot be. */
static bool do_without_process(cse_jobs *jobs, cse_job_entry *entry, const cse_job_command *command,
                               char detail[256], cse_status *status)
{
    bool ends = strcmp(command->command, "cancel") == 0 || strcmp(command->command, "kill") == 0;
    cse_job_record *record = &entry->record;
    if (strcmp(command->command, "resume") == 0 && entry->settled && jobs->root != NULL) {
        if (record->state == CSE_RUN_SUCCEEDED)
            *status = refuse_complete(jobs, record);
        else
            *status = may_resume(jobs, record);
        if (*status != CSE_OK)
            return true;
        describe_start(record, detail);
        record->restarts = record->not_before_ms = record->ended_ms = 0;
        record->cancelled = CSE_JOB_END_NONE;
        entry->settled = false;
        cse_job_entry_forget(entry); /* the next attempt will have others */
        cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "",
                             command->message != NULL ? command->message : "resumed");
        cse_job_entry_save(jobs, entry);
        return true;
    }
    if (!is_allowed(command->command, record->state)) {
        *status = refuse(jobs, entry, command->command);
        return true;
    }
    if (cse_run_state_is_terminal(record->state)) {
        snprintf(detail, 256, "it has ended already");
        return true;
    }
    if (entry->alive)
        return false;
    if (!ends) {
        *status = refuse(jobs, entry, command->command);
        return true;
    }
    if ((*status = cse_jobs_check_room(jobs)) != CSE_OK)
        return true;
    cse_job_entry_change(jobs, entry, CSE_RUN_CANCELLED, "",
                         command->message != NULL ? command->message : "cancelled before it ran");
    record->ended_ms = cse_unix_ms();
    entry->settled = true;
    cse_job_entry_save(jobs, entry);
    snprintf(detail, 256, "taken out of the queue");
    return true;
}

static void note_end(cse_jobs *jobs, const char *id, const cse_job_command *command)
{
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    bool kills = strcmp(command->command, "kill") == 0;
    if (entry != NULL) {
        entry->record.cancelled = kills ? CSE_JOB_END_KILL : CSE_JOB_END_CANCEL;
        if (!kills && command->grace_s >= 0)
            entry->record.kill_at_ms = cse_unix_ms() + (int64_t)(command->grace_s * 1000) + 5000;
        cse_job_entry_save(jobs, entry);
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* By a step of the batch job, which takes from a part of a second to CSE_BATCH_CONTROL_MS. */
static cse_status send_to_batch(const char *model_dir, cse_control_request request,
                                cse_control_reply *reply)
{
    static atomic_int sending;
    char number[CSE_SLURM_NUMBER_BYTES];
    cse_status status = CSE_OK;
    request.timeout_ms = CSE_BATCH_CONTROL_MS;
    if (!cse_slurm_noted_number(model_dir, number))
        return cse_fail(CSE_TEMPORARY, "Slurm does not have the job yet; try again in a moment");
    if (atomic_fetch_add(&sending, 1) < CSE_MOST_BATCH_COMMANDS)
        status = cse_batch_control_send(model_dir, number, &request, reply);
    else
        status = cse_fail(CSE_TEMPORARY,
                          "%d commands to batch jobs are under way already; try again in a moment",
                          CSE_MOST_BATCH_COMMANDS);
    atomic_fetch_sub(&sending, 1);
    return status;
}

static cse_status send_command(const run_place *place, const cse_job_command *command,
                               char detail[256])
{
    cse_control_reply reply;
    const cse_control_request request = {
        .endpoint = place->endpoint,
        .command = command->command,
        .reason = command->message,
        .save = command->save,
        .grace_ms = command->grace_s > 0 ? (int64_t)(command->grace_s * 1000) : 0,
        .num_csx = command->num_csx,
        .hosts = command->hosts,
        .timeout_ms = 3000,
    };
    CSE_TRY(place->batch_dir != NULL ? send_to_batch(place->batch_dir, request, &reply)
                                     : cse_control_send(&request, &reply));
    snprintf(detail, 256, "%s", reply.text);
    return CSE_OK;
}

/* What a job is and takes from its next start on. */
typedef struct scaled_job {
    json_t *spec;
    cse_job_demand demand;
} scaled_job;

/* Ends the run with a checkpoint. */
static cse_status restart_with(cse_jobs *jobs, const char *id, const run_place *place,
                               const scaled_job *scaled)
{
    char detail[256];
    const cse_job_command cancel = { .command = "cancel",
                                     .message = "starts again with another number of replicas",
                                     .save = true,
                                     .grace_s = -1 };
    CSE_TRY(send_command(place, &cancel, detail));
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    if (entry != NULL) {
        free(entry->record.spec);
        entry->record.spec = json_dumps(scaled->spec, JSON_COMPACT);
        entry->record.cores = scaled->demand.cores;
        entry->record.memory_bytes = scaled->demand.memory_bytes;
        entry->record.cancelled = CSE_JOB_END_RESTART;
        cse_job_entry_save(jobs, entry);
    }
    pthread_mutex_unlock(&jobs->lock);
    return CSE_OK;
}

/* A run cannot have more replicas than it was started with; but what it computes does not depend on
 * their number, so that it can end with a checkpoint and go on with as many as are wanted. */
static cse_status scale_by_restart(cse_jobs *jobs, const cse_job_record *record,
                                   const run_place *place, const cse_job_command *command,
                                   char detail[256])
{
    scaled_job scaled = { .spec = NULL };
    cse_status status =
        cse_job_scale_check(jobs, record, command->num_csx, &scaled.spec, &scaled.demand);
    if (status == CSE_OK)
        status = restart_with(jobs, record->id, place, &scaled);
    json_decref(scaled.spec);
    if (status == CSE_OK)
        snprintf(detail, 256,
                 "ends with a checkpoint and goes on with %lld replicas, the same bits",
                 (long long)command->num_csx);
    return status;
}

/* Of a server that shows one run, whoever started it. */
static bool is_elsewhere(const run_place *place, const char *model_dir)
{
    char own[sizeof place->host] = "", number[CSE_SLURM_NUMBER_BYTES];
    gethostname(own, sizeof own - 1);
    return place->host[0] != '\0' && strcmp(place->host, own) != 0 &&
           cse_slurm_noted_number(model_dir, number);
}

/* A command to the run's process, without the lock. */
static cse_status do_with_process(cse_jobs *jobs, const cse_job_record *record, bool batch,
                                  const cse_job_command *command, char detail[256])
{
    bool kills = strcmp(command->command, "kill") == 0,
         cancels = strcmp(command->command, "cancel") == 0;
    run_place place = find_run(jobs, record->model_dir);
    const bool foreign = jobs->root == NULL && is_elsewhere(&place, record->model_dir);
    if (batch || foreign) /* its processes are on other hosts, where their numbers mean something */
        place = (run_place){ .batch_dir = record->model_dir };
    if (kills || cancels)
        note_end(jobs, record->id, command);
    const bool signals = kills && !foreign;
    cse_status status =
        signals ? kill_run(&place, record, batch) : send_command(&place, command, detail);
    if (signals)
        snprintf(detail, 256, "its processes are killed");
    if (cancels && status != CSE_OK && (record->pid > 0 || place.pid > 0)) {
        status = signal_run(&place, record, SIGINT);
        snprintf(detail, 256, "asked to end by a signal");
    }
    if (strcmp(command->command, "scale") == 0 && status == CSE_UNAVAILABLE && jobs->root != NULL &&
        cse_error_last()->reason == CSE_ERROR_UNSUPPORTED)
        status = scale_by_restart(jobs, record, &place, command, detail);
    return status;
}

static void copy_record(const cse_job_record *from, cse_job_record *to)
{
    *to = *from;
    to->labels = NULL;
    to->spec = cse_strdup(from->spec);
}

cse_status cse_jobs_do(cse_jobs *jobs, const char *id, const cse_job_command *command,
                       char detail[256])
{
    cse_status status = CSE_OK;
    cse_job_record *record = cse_calloc(1, sizeof *record);
    detail[0] = '\0';
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    if (entry != NULL && (entry->alive || jobs->root == NULL))
        cse_job_entry_refresh(jobs, entry);
    const bool batch = entry != NULL && entry->batch;
    bool done = entry == NULL || do_without_process(jobs, entry, command, detail, &status);
    if (entry == NULL)
        status = cse_fail(CSE_NO_INPUT, "there is no job \"%s\"", id);
    else
        copy_record(&entry->record, record);
    pthread_mutex_unlock(&jobs->lock);
    if (!done)
        status = do_with_process(jobs, record, batch, command, detail);
    cse_job_record_clear(record);
    free(record);
    cse_jobs_wake(jobs);
    return status;
}

/* ---- name, labels, priority ---- */

static cse_status check_revision(const cse_job_entry *entry, const char *id, int64_t revision)
{
    if (entry == NULL)
        return cse_fail(CSE_NO_INPUT, "there is no job \"%s\"", id);
    if (revision >= 0 && entry->record.revision != revision)
        return cse_fail(CSE_DATA, "job \"%s\" was changed meanwhile: read it again", id);
    return CSE_OK;
}

static void patch_labels(cse_job_record *record, const json_t *changes)
{
    json_t *labels = json_loads(record->labels, 0, NULL), *value;
    const char *key;
    if (labels == NULL)
        labels = json_object();
    json_object_foreach((json_t *)(uintptr_t)changes, key, value)
    {
        if (json_is_null(value))
            json_object_del(labels, key);
        else
            json_object_set(labels, key, value);
    }
    free(record->labels);
    record->labels = json_dumps(labels, JSON_COMPACT);
    json_decref(labels);
}

cse_status cse_jobs_patch(cse_jobs *jobs, const char *id, int64_t revision, const json_t *patch)
{
    const json_t *name = json_object_get(patch, "name");
    const json_t *labels = json_object_get(patch, "labels");
    const json_t *priority = json_object_get(patch, "priority");
    if (jobs->root == NULL)
        return cse_fail(CSE_UNAVAILABLE,
                        "this server shows one run and keeps no names, labels or priorities");
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    cse_status status = check_revision(entry, id, revision);
    if (status == CSE_OK)
        status = cse_jobs_check_room(jobs);
    if (status == CSE_OK) {
        if (name != NULL)
            snprintf(entry->record.name, sizeof entry->record.name, "%s", json_string_value(name));
        if (labels != NULL)
            patch_labels(&entry->record, labels);
        if (priority != NULL)
            entry->record.priority = json_string_value(priority)[1] - '0';
        entry->record.revision++;
        status = cse_jobs_db_update(jobs->db, &entry->record);
    }
    pthread_mutex_unlock(&jobs->lock);
    cse_jobs_wake(jobs);
    return status;
}

/* ---- removal ---- */

/* Jobs are removed to make room, so removal must work on a full disk. */
static cse_status remove_record(cse_jobs *jobs, const char *id)
{
    if (cse_jobs_db_remove(jobs->db, id) == CSE_OK)
        return CSE_OK;
    cse_reserve_release(&jobs->reserve);
    return cse_jobs_db_remove(jobs->db, id);
}

cse_status cse_jobs_remove(cse_jobs *jobs, const char *id, int64_t revision)
{
    if (jobs->root == NULL)
        return cse_fail(CSE_UNAVAILABLE, "this server shows one run and removes none");
    pthread_mutex_lock(&jobs->lock);
    cse_job_entry *entry = cse_job_entry_find(jobs, id);
    cse_status status = check_revision(entry, id, revision);
    if (status == CSE_OK && !entry->settled)
        status = cse_fail(CSE_USAGE, "job \"%s\" is %s: only what has ended can be removed", id,
                          cse_run_state_name(entry->record.state));
    if (status == CSE_OK)
        status = remove_record(jobs, id);
    if (status == CSE_OK) {
        cse_readers_forget(jobs->options.readers, entry->record.model_dir);
        cse_derived_db_remove(jobs->derived, id);
        cse_remove_tree(entry->record.model_dir);
        int at = 0;
        while (jobs->entries[at] != entry)
            at++;
        memmove(jobs->entries + at, jobs->entries + at + 1,
                (size_t)(--jobs->entry_count - at) * sizeof jobs->entries[0]);
        cse_job_record_clear(&entry->record);
        cse_job_entry_forget(entry);
        free(entry);
        cse_reserve_take(&jobs->reserve);
    }
    pthread_mutex_unlock(&jobs->lock);
    return status;
}
