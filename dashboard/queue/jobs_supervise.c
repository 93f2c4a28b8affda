/* The thread starts the jobs whose turn it is, notices processes that end, and decides what
 * follows.
 *
 *     QUEUED ──► a process ──► the run store says how it goes ──► the process ends
 *        ▲                                                             │
 *        ├── FAILED for a reason that may go away, restarts are left ──┤
 *        ├── killed, or gone with the machine: nobody asked for it ────┤
 *     RECOVERING (its process vanished) ──► a new process              └──► settled
 *
 * A waiting job shows what it waits for. Nothing overtakes the first of the queue: otherwise small
 * jobs could delay a large one for ever. */
#include "dashboard/queue/jobs_supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dashboard/checks/job_program.h"
#include "dashboard/jobs/job_account.h"
#include "dashboard/queue/jobs_commands.h"
#include "dashboard/queue/jobs_launch.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "run/job/run_target.h"

enum { CHECK_MS = 200, FIRST_PAUSE_MS = 1000, LONGEST_PAUSE_MS = 60000, MOST_POLLED = 256 };

/* A job whose process was killed is started again, however many restarts it has, unless so many of
 * its processes in a row did no further step. */
enum { MOST_FUTILE = 5 };

/* ---- processes that end ---- */

/* -1 for a process that an earlier server started: its exit code cannot be known. */
static int64_t exit_code_of(const cse_job_entry *entry, int *signal_number)
{
    int how = 0;
    *signal_number = 0;
    if (!entry->child || waitpid((pid_t)entry->record.pid, &how, WNOHANG) <= 0)
        return -1;
    if (WIFSIGNALED(how)) {
        *signal_number = WTERMSIG(how);
        return 128 + WTERMSIG(how);
    }
    return WEXITSTATUS(how);
}

/* A program that is the job may have any exit code; those of the table mean what they say there. */
static cse_run_reason reason_of_exit(const cse_job_record *record)
{
    const int64_t code = record->exit_code;
    if (code < 0 || code > 128)
        return CSE_REASON_INTERRUPTED;
    const cse_run_reason reason = cse_run_reason_of_exit_code((int)code);
    const bool unknown = reason == CSE_RUN_REASON_COUNT;
    if ((code == 1 || unknown) && cse_job_is_program(record->spec))
        return CSE_REASON_PROGRAM;
    return unknown ? CSE_REASON_INTERNAL : reason;
}

/* How a process ended. */
typedef struct process_end {
    int signal_number; /* 0: none, or unknown */
    bool goes_on;      /* it was killed, or vanished with the machine: its job is started again */
} process_end;

/* How the process of a job that failed ended, in words. */
static void describe_end(const cse_job_entry *entry, cse_run_reason reason, int signal_number,
                         char *message, size_t size)
{
    char error[CSE_JOB_MESSAGE_BYTES];
    const cse_job_record *record = &entry->record;
    cse_job_last_error(entry, error, sizeof error);
    if (signal_number != 0)
        snprintf(message, size, "its process was ended by signal %d (%s)", signal_number,
                 strsignal(signal_number));
    else if (record->exit_code < 0 && cse_job_folder_is_gone(record))
        snprintf(message, size,
                 "its process has ended and its folder %.512s was removed: how the run ended is "
                 "not known, and nothing is left to go on from",
                 record->model_dir);
    else if (record->exit_code < 0)
        snprintf(message, size, "its process vanished without an exit code");
    else if (error[0] != '\0' && reason != CSE_REASON_INTERRUPTED)
        snprintf(message, size, "%s", error);
    else
        snprintf(message, size, "its process ended with exit code %lld%s%s",
                 (long long)record->exit_code, error[0] != '\0' ? ": " : "", error);
}

/* The end state of a job whose process left no terminal state in its run store. */
static void set_end_state(cse_jobs *jobs, cse_job_entry *entry, const process_end *end)
{
    cse_job_record *record = &entry->record;
    char message[CSE_JOB_MESSAGE_BYTES + 64];
    cse_run_reason reason = reason_of_exit(record);
    if (record->cancelled != CSE_JOB_END_NONE) {
        cse_job_entry_change(jobs, entry, CSE_RUN_CANCELLED, "",
                             record->cancelled == CSE_JOB_END_KILL ? "killed on request"
                                                                   : "ended on request");
        return;
    }
    if (record->exit_code == 0) {
        cse_job_entry_change(jobs, entry, CSE_RUN_SUCCEEDED, "", "ended by itself");
        return;
    }
    describe_end(entry, reason, end->signal_number, message, sizeof message);
    bool left = record->restarts < record->max_num_restarts && cse_run_reason_retryable(reason) &&
                !cse_job_folder_is_gone(record);
    bool again =
        (end->goes_on || left) && cse_run_state_may_follow(record->state, CSE_RUN_RECOVERING);
    cse_job_entry_change(jobs, entry, again ? CSE_RUN_RECOVERING : CSE_RUN_FAILED,
                         cse_run_reason_name(reason), message);
}

static void start_after_pause(cse_job_record *record, int64_t earlier)
{
    int64_t pause_ms = FIRST_PAUSE_MS << (earlier < 6 ? earlier : 6);
    record->not_before_ms =
        cse_unix_ms() + (pause_ms < LONGEST_PAUSE_MS ? pause_ms : LONGEST_PAUSE_MS);
}

static void settle(cse_job_entry *entry)
{
    entry->settled = true;
    entry->record.ended_ms = cse_unix_ms();
}

static void plan_going_on(cse_jobs *jobs, cse_job_entry *entry)
{
    cse_job_record *record = &entry->record;
    const bool interrupted = record->state == CSE_RUN_FAILED &&
                             cse_run_reason_of(record->reason) == CSE_REASON_INTERRUPTED;
    if (cse_run_state_is_terminal(record->state) && !interrupted) {
        settle(entry);
        return;
    }
    start_after_pause(record, entry->futile);
    if (record->state != CSE_RUN_RECOVERING)
        cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "",
                             "goes on: its process was killed, and nobody had asked for its end");
}

static void plan_restart(cse_jobs *jobs, cse_job_entry *entry)
{
    cse_job_record *record = &entry->record;
    char message[CSE_JOB_MESSAGE_BYTES];
    if (record->state == CSE_RUN_CANCELLED && record->cancelled == CSE_JOB_END_RESTART) {
        record->cancelled = CSE_JOB_END_NONE;
        cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "",
                             "starts again with another number of replicas");
        return;
    }
    bool failed = record->state == CSE_RUN_FAILED && record->cancelled == CSE_JOB_END_NONE &&
                  cse_run_reason_retryable(cse_run_reason_of(record->reason)) &&
                  record->restarts < record->max_num_restarts && !cse_job_folder_is_gone(record);
    if (record->state != CSE_RUN_RECOVERING && !failed) {
        settle(entry);
        return;
    }
    start_after_pause(record, record->restarts++);
    if (!failed)
        return;
    snprintf(message, sizeof message, "starts again, %lld of %lld, after %s",
             (long long)record->restarts, (long long)record->max_num_restarts, record->reason);
    cse_job_entry_change(jobs, entry, CSE_RUN_QUEUED, "", message);
}

/* The step of the run store, and whether a process still holds the run. */
static cse_run_status status_of(cse_jobs *jobs, const cse_job_record *record)
{
    cse_store_reader *reader = NULL;
    cse_run_status status = { .last_step = -1 };
    if (cse_readers_borrow(jobs->options.readers, record->model_dir, &reader) == CSE_OK)
        cse_store_reader_status(reader, &status);
    cse_readers_give_back(jobs->options.readers, record->model_dir, &reader);
    return status;
}

/* Counts the processes in a row that were killed before they did a step. */
static bool goes_on(cse_jobs *jobs, cse_job_entry *entry, int signal_number)
{
    const cse_job_record *record = &entry->record;
    if (record->cancelled != CSE_JOB_END_NONE || (signal_number == 0 && record->exit_code >= 0) ||
        cse_job_folder_is_gone(record))
        return false;
    const bool further = status_of(jobs, record).last_step > entry->launch_step;
    entry->futile = further ? 0 : entry->futile + 1;
    return entry->futile <= MOST_FUTILE;
}

/* After the process has ended: the end state, and whether the job is restarted. */
static void finish_process(cse_jobs *jobs, cse_job_entry *entry)
{
    process_end end = { .signal_number = 0 };
    cse_job_record *record = &entry->record;
    record->exit_code = exit_code_of(entry, &end.signal_number);
    end.goes_on = goes_on(jobs, entry, end.signal_number);
    if (entry->descriptor >= 0)
        close(entry->descriptor);
    entry->descriptor = -1;
    entry->alive = false;
    entry->child = false;
    cse_job_entry_refresh(jobs, entry);
    if (!cse_run_state_is_terminal(record->state))
        set_end_state(jobs, entry, &end);
    if (record->state == CSE_RUN_SUCCEEDED) /* its first process may have been killed before */
        cse_run_target_remove(record->model_dir);
    record->pid = record->pid_start = 0;
    record->kill_at_ms = 0;
    if (end.goes_on)
        plan_going_on(jobs, entry);
    else
        plan_restart(jobs, entry);
    cse_job_entry_save(jobs, entry);
}

static bool is_gone(const cse_job_entry *entry)
{
    if (entry->descriptor >= 0) {
        struct pollfd ended = { .fd = entry->descriptor, .events = POLLIN };
        return poll(&ended, 1, 0) > 0;
    }
    return cse_process_start(entry->record.pid) != entry->record.pid_start;
}

/* The server was killed while it started a process: it may be there, it may have ended since, which
 * its run store tells, or it was never started. */
static void resolve_launch(cse_jobs *jobs, cse_job_entry *entry)
{
    char message[CSE_JOB_MESSAGE_BYTES];
    cse_job_record *record = &entry->record;
    const int64_t pid = cse_job_process_find(entry);
    const bool ran =
        record->state == CSE_RUN_STARTING || status_of(jobs, record).attempt > record->base_attempt;
    if (pid == 0 && ran)
        return; /* its number is of no process: it has ended */
    record->pid = pid;
    record->pid_start = cse_process_start(pid);
    if (pid == 0) {
        record->attempt--;
    } else if (cse_run_state_may_follow(record->state, CSE_RUN_STARTING)) {
        snprintf(message, sizeof message, "process %lld, which an earlier server started",
                 (long long)pid);
        cse_job_entry_change(jobs, entry, CSE_RUN_STARTING, "", message);
    }
    cse_job_entry_save(jobs, entry);
}

void cse_jobs_adopt(cse_jobs *jobs)
{
    for (int i = 0; i < jobs->entry_count; i++) {
        cse_job_entry *entry = jobs->entries[i];
        cse_job_record *record = &entry->record;
        if (record->pid == CSE_JOB_LAUNCHING)
            resolve_launch(jobs, entry);
        bool started = record->pid != 0;
        entry->alive = record->pid > 0 && cse_process_start(record->pid) == record->pid_start;
        entry->settled = !started && cse_run_state_is_terminal(record->state);
        entry->descriptor = entry->alive ? cse_process_descriptor(record->pid) : -1;
        if (started && !entry->alive)
            finish_process(jobs, entry);
    }
}

/* ---- the queue ---- */

static bool is_waiting(const cse_job_entry *entry)
{
    return !entry->alive && !entry->settled && entry->record.pid == 0 &&
           (entry->record.state == CSE_RUN_QUEUED || entry->record.state == CSE_RUN_RECOVERING);
}

/* The order of the queue. */
static bool is_before(const cse_job_entry *a, const cse_job_entry *b)
{
    if (a->record.priority != b->record.priority)
        return a->record.priority < b->record.priority;
    return a->record.seq < b->record.seq;
}

/* Notes that a process is about to be started: another server must know of it, should this one be
 * killed before it has noted which. */
static cse_status announce_launch(cse_jobs *jobs, cse_job_entry *entry,
                                  const cse_run_status *status)
{
    cse_job_record *record = &entry->record;
    CSE_TRY(cse_jobs_check_room(jobs));
    entry->launch_step = status->last_step;
    record->base_attempt = status->attempt;
    record->attempt++;
    record->exit_code = -1;
    record->cancelled = CSE_JOB_END_NONE;
    record->pid = CSE_JOB_LAUNCHING;
    const cse_status noted = cse_jobs_db_update(jobs->db, record);
    if (noted != CSE_OK) {
        record->pid = 0;
        record->attempt--;
    }
    return noted;
}

/* False when jobs.db cannot be written, since the next server would not know the process; and while
 * the coordinator of an earlier process, which was killed, still saves what it has. */
static bool launch(cse_jobs *jobs, cse_job_entry *entry)
{
    char message[CSE_JOB_MESSAGE_BYTES];
    cse_job_record *record = &entry->record;
    const cse_run_status status = status_of(jobs, record);
    if (status.alive && cse_unix_ms() < record->not_before_ms + LONGEST_PAUSE_MS) {
        snprintf(entry->waiting_for, sizeof entry->waiting_for,
                 "the end of its earlier coordinator, which saves the last step");
        return false;
    }
    if (announce_launch(jobs, entry, &status) != CSE_OK) {
        snprintf(entry->waiting_for, sizeof entry->waiting_for, "room on the disk: %s",
                 cse_error_message());
        return false;
    }
    const cse_status launched = cse_job_launch(jobs, entry);
    if (launched != CSE_OK) {
        const cse_run_reason reason = cse_run_reason_of_status(launched, true);
        record->pid = 0;
        snprintf(message, sizeof message, "%.*s", (int)sizeof message - 1, cse_error_message());
        cse_job_entry_change(jobs, entry, CSE_RUN_FAILED, cse_run_reason_name(reason), message);
        plan_restart(jobs, entry);
    } else {
        snprintf(message, sizeof message, "process %lld", (long long)record->pid);
        if (record->started_ms == 0)
            record->started_ms = cse_unix_ms();
        record->ended_ms = 0;
        cse_job_entry_change(jobs, entry, CSE_RUN_STARTING, "", message);
    }
    entry->waiting_for[0] = '\0';
    cse_job_entry_save(jobs, entry);
    return true;
}

/* Of those that no limit of their own holds back. */
static cse_job_entry *first_waiting(cse_jobs *jobs, int64_t now_ms)
{
    cse_job_entry *first = NULL;
    for (int i = 0; i < jobs->entry_count; i++) {
        cse_job_entry *e = jobs->entries[i];
        if (!is_waiting(e) || e->record.not_before_ms > now_ms)
            continue;
        e->held = cse_job_account_holds(jobs, e, e->waiting_for, sizeof e->waiting_for);
        if (!e->held && (first == NULL || is_before(e, first)))
            first = e;
    }
    return first;
}

static void explain_waiting(cse_jobs *jobs, const cse_job_entry *first, int64_t now_ms)
{
    for (int i = 0; i < jobs->entry_count; i++) {
        cse_job_entry *entry = jobs->entries[i];
        if (!is_waiting(entry) || entry == first)
            continue;
        int64_t rest_ms = entry->record.not_before_ms - now_ms;
        if (rest_ms > 0)
            snprintf(entry->waiting_for, sizeof entry->waiting_for,
                     "%lld s until it is started again", (long long)(rest_ms + 999) / 1000);
        else if (!entry->held && first != NULL)
            snprintf(entry->waiting_for, sizeof entry->waiting_for,
                     "its turn: %s (p%d) comes before it", first->record.id,
                     first->record.priority);
    }
}

static void serve_queue(cse_jobs *jobs)
{
    for (;;) {
        int64_t now_ms = cse_unix_ms();
        cse_job_entry *first = first_waiting(jobs, now_ms);
        bool starts = first != NULL && cse_job_account_fits(jobs, first, first->waiting_for,
                                                            sizeof first->waiting_for);
        if (!starts || !launch(jobs, first)) {
            explain_waiting(jobs, first, now_ms);
            return;
        }
    }
}

/* ---- one check of all jobs ---- */

static void kill_overdue(cse_jobs *jobs, cse_job_entry *entry, int64_t now_ms)
{
    if (entry->record.kill_at_ms == 0 || now_ms < entry->record.kill_at_ms)
        return;
    cse_log_line(CSE_LOG_WARNING, "job %s did not end in time: killed", entry->record.id);
    entry->record.kill_at_ms = 0;
    entry->record.cancelled = CSE_JOB_END_KILL;
    cse_job_entry_kill(jobs, entry);
}

void cse_jobs_check(cse_jobs *jobs)
{
    int64_t now_ms = cse_unix_ms();
    for (int i = 0; i < jobs->entry_count; i++) {
        cse_job_entry *entry = jobs->entries[i];
        if (entry->unsaved)
            cse_job_entry_save(jobs, entry);
        if (!entry->alive)
            continue;
        if (is_gone(entry)) {
            finish_process(jobs, entry);
        } else {
            cse_run_state before = entry->record.state;
            cse_job_entry_refresh(jobs, entry);
            if (before != entry->record.state)
                cse_job_entry_save(jobs, entry);
            kill_overdue(jobs, entry, now_ms);
        }
    }
    serve_queue(jobs);
}

/* Until a process ends, cse_jobs_wake is called, or CHECK_MS have passed. */
static void wait_for_event(cse_jobs *jobs)
{
    struct pollfd polled[MOST_POLLED];
    uint64_t wakes;
    int count = 1;
    polled[0] = (struct pollfd){ .fd = jobs->wake_descriptor, .events = POLLIN };
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < jobs->entry_count && count < MOST_POLLED; i++)
        if (jobs->entries[i]->alive && jobs->entries[i]->descriptor >= 0)
            polled[count++] =
                (struct pollfd){ .fd = jobs->entries[i]->descriptor, .events = POLLIN };
    pthread_mutex_unlock(&jobs->lock);
    if (poll(polled, (nfds_t)count, CHECK_MS) > 0 && (polled[0].revents & POLLIN) != 0 &&
        read(jobs->wake_descriptor, &wakes, sizeof wakes) < 0 && errno != EAGAIN)
        cse_log_line(CSE_LOG_WARNING, "jobs: %s", strerror(errno));
}

void *cse_jobs_supervise(void *self)
{
    cse_jobs *jobs = self;
    for (;;) {
        wait_for_event(jobs);
        pthread_mutex_lock(&jobs->lock);
        bool ending = jobs->ending;
        if (!ending)
            cse_jobs_check(jobs);
        pthread_mutex_unlock(&jobs->lock);
        if (ending)
            return NULL;
    }
}
