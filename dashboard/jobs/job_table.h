/* The table of jobs: the entries in memory and their records in jobs.db. Every file that creates,
 * starts, changes or shows jobs works on it.
 *
 * A server with a root has a queue; one that shows a single run has a table of one entry, whose
 * state is what the run's store says. */
#ifndef CSE_DASHBOARD_JOBS_JOB_TABLE_H
#define CSE_DASHBOARD_JOBS_JOB_TABLE_H

#include <jansson.h>
#include <pthread.h>

#include "dashboard/access/grant.h"
#include "dashboard/data/readers.h"
#include "dashboard/jobs/derived_db.h"
#include "dashboard/jobs/jobs_db.h"
#include "engine/base/confinement.h"
#include "store/reserve.h"

typedef struct cse_jobs cse_jobs;

typedef struct cse_jobs_options {
    const char *root;            /* directory of the queue, or */
    const char *run_dir;         /* the one run that is shown */
    bool slurm;                  /* jobs may be batch jobs of Slurm */
    bool read_only;              /* of a run: nothing is written, calls are not recorded */
    const char *executable;      /* csengine, for jobs and checks */
    int64_t cores, memory_bytes; /* what all jobs together may use; 0: what the machine has */
    const cse_grant *grants;     /* of the tokens with a name; borrowed */
    int grant_count;
    cse_readers *readers;               /* borrowed */
    const cse_confinement *confinement; /* of the processes of jobs; borrowed; NULL: none */
    /* Called after the server changed a job's state; `payload` is JSON. May be NULL. */
    void (*on_state)(void *self, const char *job, const char *payload);
    void *self;
} cse_jobs_options;

bool cse_jobs_is_root(const cse_jobs *jobs);
/* The table of audits and such; NULL when it cannot be written. Borrowed. */
cse_jobs_db *cse_jobs_db_view(cse_jobs *jobs);

/* What was read from the run store of a settled job; NULL: nothing is kept. Threads share the
 * content, whose references are counted atomically: nobody changes it. */
typedef struct cse_kept {
    char *source; /* what it was read from: queue/job_derived.h */
    json_t *content;
} cse_kept;

/* The present state of a job: a copy. */
typedef struct cse_job {
    cse_job_record record;
    bool alive;   /* its process is there */
    bool settled; /* ended, and it will not be restarted automatically */
    char waiting_for[512];
    cse_kept kept[CSE_DERIVED_KINDS]; /* of a settled job */
    json_t *warnings; /* in the answer to its creation: Diagnostic objects; borrowed, or NULL */
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
const cse_confinement *cse_jobs_confinement_view(const cse_jobs *jobs);

/* Whether it has a label with this value. */
bool cse_job_has_label(const cse_job_record *record, const char *key, const char *value);

/* Whether the folder of its run was removed: what is known of it then stands in jobs.db and
 * derived.db alone. */
bool cse_job_folder_is_gone(const cse_job_record *record);

/* Wakes the thread that supervises. */
void cse_jobs_wake(cse_jobs *jobs);
/* Keeps what was read from the store of a settled job, if it is still as it was then. */
void cse_job_keep(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind, cse_kept kept);
/* What is kept of it now, of this source: a reference, or NULL. */
json_t *cse_job_kept(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind, const char *source);
/* The next settled job from *at of the table on of which something is not kept; *at is then behind
 * it. False: there is none. */
bool cse_jobs_next_unread(cse_jobs *jobs, int *at, cse_job *job);

/* ---- for the files that change jobs ---- */

/* A job of the table. */
typedef struct cse_job_entry {
    cse_job_record record;
    bool alive, settled;
    bool batch;          /* its process waits for a batch job of Slurm */
    bool unsaved;        /* its record could not be written to jobs.db: tried again at each check */
    bool child;          /* of this process: its exit status can be read */
    int descriptor;      /* pidfd of its process, -1 */
    int64_t launch_step; /* of its run store when the process was started; -1: none */
    int futile;          /* processes in a row that were killed before they did a step */
    bool held;           /* waits for a limit of its own, and delays no other */
    char waiting_for[512];
    cse_kept kept[CSE_DERIVED_KINDS]; /* of its run store, once the job is settled */
} cse_job_entry;

/* So many that two jobs seldom share one: the thread that reads ahead may be slow. */
enum { CSE_JOB_READINGS = 1024 };

struct cse_jobs {
    cse_jobs_options options;
    char *root, *run_dir, *executable;
    int lock_file;
    int64_t cores, memory_bytes;
    cse_jobs_db *db;
    cse_reserve reserve;  /* of the root's disk, so that jobs can be removed when it is full; it
                          * stays there when the server ends */
    pthread_mutex_t lock; /* of the entries */
    cse_job_entry **entries;
    int entry_count, entry_capacity;
    bool ending, supervised;
    pthread_t thread;
    int wake_descriptor;
    cse_derived_db *derived; /* NULL: nothing is kept over the server's end */
    char *build;             /* the program that reads: part of what is kept */
    bool reads_ahead;
    pthread_t reading_thread;
    pthread_cond_t reading_wake;               /* with `lock` */
    pthread_mutex_t reading[CSE_JOB_READINGS]; /* of the jobs whose place in the table this is */
};

/* All with the lock held. */
/* Forgets what was read of its run store. */
void cse_job_entry_forget(cse_job_entry *entry);
/* A copy of the record, at the end of the table. */
cse_job_entry *cse_job_entry_add(cse_jobs *jobs, const cse_job_record *record);
/* NULL when there is none. */
cse_job_entry *cse_job_entry_find(cse_jobs *jobs, const char *id);
/* Takes the state from the run's store, if that is of the present attempt. */
void cse_job_entry_refresh(cse_jobs *jobs, cse_job_entry *entry);
/* The one place where the server changes a state. The entry changes even when jobs.db cannot be
 * written; the status says why it could not. */
cse_status cse_job_entry_change(cse_jobs *jobs, cse_job_entry *entry, cse_run_state to,
                                const char *reason, const char *message);
/* Writes the record to jobs.db; the supervising thread tries again when that fails. */
void cse_job_entry_save(cse_jobs *jobs, cse_job_entry *entry);
/* Whether jobs.db can be written, to be asked before a request is carried out: CSE_TEMPORARY with
 * what to do when it cannot. A server without a queue has nothing to write. */
cse_status cse_jobs_check_room(cse_jobs *jobs);

/* `job` gets a copy of the entry. */
void cse_job_copy(const cse_job_entry *entry, cse_job *job);

#endif
