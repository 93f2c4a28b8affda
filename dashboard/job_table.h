/* The table of jobs in memory, with jobs.db behind it: what all that is done to jobs goes by.
 *
 * A server with a root has a queue; one that shows a single run has a table of one entry, whose
 * state is what the run's store says. */
#ifndef CSE_DASHBOARD_JOB_TABLE_H
#define CSE_DASHBOARD_JOB_TABLE_H

#include <jansson.h>
#include <pthread.h>

#include "dashboard/jobs_db.h"
#include "dashboard/readers.h"

typedef struct cse_jobs cse_jobs;

typedef struct cse_jobs_options {
    const char *root;            /* owns a queue there, or */
    const char *run_dir;         /* shows this one run */
    bool read_only;              /* of a run: nothing is written, calls are not recorded */
    const char *executable;      /* csengine, for jobs and checks */
    int64_t cores, memory_bytes; /* what all jobs together may use; 0: what the machine has */
    cse_readers *readers;        /* borrowed */
    /* Tells the change of a job's state that the server made; `payload` is JSON. May be NULL. */
    void (*on_state)(void *self, const char *job, const char *payload);
    void *self;
} cse_jobs_options;

bool cse_jobs_is_root(const cse_jobs *jobs);
/* The table of audits and such; NULL when it cannot be written. Borrowed. */
cse_jobs_db *cse_jobs_db_view(cse_jobs *jobs);

/* How a job stands now: a copy. */
typedef struct cse_job {
    cse_job_record record;
    bool alive;   /* its process is there */
    bool settled; /* ended, and nothing more will be done about it by itself */
    char waiting_for[512];
    char *facts; /* of jobs.c */
} cse_job;
bool cse_jobs_find(cse_jobs *jobs, const char *id, cse_job *job);
void cse_job_release(cse_job *job);

/* Calls `take` with each job, newest first, until it returns false. */
void cse_jobs_each(cse_jobs *jobs, bool (*take)(void *self, const cse_job *job), void *self);

typedef struct cse_job_budget {
    int64_t cores, memory_bytes, used_cores, used_memory_bytes;
    int64_t states[CSE_RUN_STATE_COUNT];
} cse_job_budget;
cse_job_budget cse_jobs_budget(cse_jobs *jobs);
/* Directory that holds the runs. Borrowed. */
const char *cse_jobs_directory_view(const cse_jobs *jobs);
const char *cse_jobs_executable_view(const cse_jobs *jobs);

/* Wakes the thread that supervises. */
void cse_jobs_nudge(cse_jobs *jobs);
/* What is read of a settled job's store need not be read again. */
void cse_job_keep_facts(cse_jobs *jobs, const cse_job *job, const json_t *facts);

/* ---- for the files that change jobs ---- */

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
/* A copy of the record, at the end of the table. */
cse_job_entry *cse_job_entry_add(cse_jobs *jobs, const cse_job_record *record);
/* NULL when there is none. */
cse_job_entry *cse_job_entry_find(cse_jobs *jobs, const char *id);
/* Takes over what the run's store says, when it speaks of the present attempt. */
void cse_job_entry_refresh(cse_jobs *jobs, cse_job_entry *entry);
/* The one place where the server changes a state. What happened is so, whether or not jobs.db has
 * room for it: CSE_OK, or why it could not be written. */
cse_status cse_job_entry_change(cse_jobs *jobs, cse_job_entry *entry, cse_run_state to,
                                const char *reason, const char *message);
/* Writes the record to jobs.db; what fails is tried again at each look of the supervising
 * thread. */
void cse_job_entry_save(cse_jobs *jobs, cse_job_entry *entry);
/* Whether jobs.db takes what somebody asks for, before anything is done about it: CSE_TEMPORARY
 * with what to do when it does not. A server without a queue has nothing to write. */
cse_status cse_jobs_check_room(cse_jobs *jobs);
/* Some room of the root's disk that is kept, so that jobs can be removed when it is full. */
void cse_jobs_reserve_make(cse_jobs *jobs);
void cse_jobs_reserve_release(cse_jobs *jobs);

/* `job` gets a copy of the entry. */
void cse_job_copy(const cse_job_entry *entry, cse_job *job);

#endif
