/* What the files about jobs share. */
#ifndef CSE_DASHBOARD_JOBS_INTERNAL_H
#define CSE_DASHBOARD_JOBS_INTERNAL_H

#include <pthread.h>

#include "dashboard/jobs.h"

/* A job in memory. */
typedef struct cse_job_entry {
    cse_job_record record;
    bool alive, settled;
    bool unsaved;   /* jobs.db had no room for its record: tried again at each look */
    bool child;     /* of this process: its exit status can be had */
    int descriptor; /* pidfd of its process, -1 */
    char waiting_for[512];
    char *facts; /* JSON of what its run store says, once nothing of it can change; or NULL */
} cse_job_entry;

struct cse_jobs {
    cse_jobs_options options;
    char *root, *run_dir, *executable;
    int lock_file;
    int64_t cores, memory_bytes;
    cse_jobs_db *db;
    pthread_mutex_t lock; /* of the entries */
    cse_job_entry **entries;
    int entry_count, entry_capacity;
    bool ending, supervised;
    pthread_t thread;
    int wake_descriptor;
};

/* All with the lock held. */
cse_job_entry *cse_job_entry_find(cse_jobs *jobs, const char *id);
/* Takes over what the run's store says, when it speaks of the present attempt. */
void cse_job_entry_refresh(cse_jobs *jobs, cse_job_entry *entry);
/* The one place where the server changes a state. What happened is so, whether or not jobs.db has
 * room for it: CSE_OK, or why it could not be written. */
cse_status cse_job_entry_change(cse_jobs *jobs, cse_job_entry *entry, cse_run_state to,
                                const char *reason, const char *message);
/* Kills the run's processes: its coordinator, then what keeps it. */
void cse_job_entry_kill(cse_jobs *jobs, const cse_job_entry *entry);
void cse_job_entry_save(cse_jobs *jobs, cse_job_entry *entry);
/* Whether jobs.db takes what somebody asks for, before anything is done about it: CSE_TEMPORARY
 * with what to do when it does not. A server without a queue has nothing to write. */
cse_status cse_jobs_check_room(cse_jobs *jobs);
/* Some room of the root's disk that is kept, so that jobs can be removed when it is full. */
void cse_jobs_reserve_make(cse_jobs *jobs);
void cse_jobs_reserve_release(cse_jobs *jobs);

/* Without the lock: what is read of a settled job's store need not be read again. */
void cse_job_keep_facts(cse_jobs *jobs, const cse_job *job, const json_t *facts);

/* Wakes the thread that supervises. */
void cse_jobs_nudge(cse_jobs *jobs);
void *cse_jobs_supervise(void *jobs);
/* Finds the processes that an earlier server started. */
void cse_jobs_adopt(cse_jobs *jobs);

/* jobs_origin.c: the path of the checkpoint that `from` (ResumeFrom) means, appended. CSE_NO_INPUT,
 * saying what there is, when there is no such job or checkpoint; `may_come`: of a job that has not
 * ended nothing is appended instead, since it may still write one. With the lock held. */
cse_status cse_job_origin_find(cse_jobs *jobs, const json_t *from, bool may_come, cse_text *path);

/* jobs_launch.c */
cse_status cse_job_launch(cse_jobs *jobs, cse_job_entry *entry);
/* Start of a process in clock ticks since boot; 0: there is none. */
int64_t cse_process_start(int64_t pid);
int cse_process_descriptor(int64_t pid);
/* The last line about an error in what the job printed, "" when there is none. */
void cse_job_last_error(const cse_job_entry *entry, char *text, size_t size);

#endif
