/* The server's own database: the jobs, their order and priority, and an audit of who changed what.
 *
 * A SQLite file: jobs.db in a root, dashboard.db in the directory of a single run (where only the
 * audit and the idempotency tables are used). What a run did is in its own run store; this file
 * holds what was requested of it and what the server decided. All functions may be called from any
 * thread; one lock serializes them. */
#ifndef CSE_DASHBOARD_JOBS_JOBS_DB_H
#define CSE_DASHBOARD_JOBS_JOBS_DB_H

#include <stdint.h>

#include "dashboard/access/grant.h"
#include "engine/base/text.h"
#include "store/states.h"

typedef struct cse_jobs_db cse_jobs_db;

enum {
    CSE_JOB_ID_BYTES = 65,
    CSE_JOB_NAME_BYTES = 801, /* 200 characters of UTF-8 */
    CSE_JOB_PATH_BYTES = 4096,
    CSE_JOB_MESSAGE_BYTES = 1024,
    CSE_JOB_PRIORITIES = 4,
    CSE_JOB_LAUNCHING = -1, /* as a process's number: it is not known yet */
};

typedef enum cse_job_end {
    CSE_JOB_END_NONE,
    CSE_JOB_END_CANCEL,
    CSE_JOB_END_KILL,
    CSE_JOB_END_RESTART, /* to start again with another number of replicas */
} cse_job_end;

/* A row of the table of jobs. */
typedef struct cse_job_record {
    int64_t seq; /* order of creation, from 1 */
    char id[CSE_JOB_ID_BYTES], name[CSE_JOB_NAME_BYTES];
    char model_dir[CSE_JOB_PATH_BYTES];
    char *labels; /* JSON object */
    char *spec;   /* JSON, as sent, without labels, name and priority */
    char digest[65];
    char owner[CSE_GRANT_NAME_BYTES]; /* name of the token that it was requested with; "": none */
    int priority;
    cse_run_state state;
    char reason[32], message[CSE_JOB_MESSAGE_BYTES];
    int64_t state_since_ms; /* of the transition to `state`; read, never written */
    int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
    int64_t attempt;                          /* launches */
    int64_t base_attempt;                     /* of the run store before the last launch */
    int64_t restarts, max_num_restarts;
    int64_t pid, pid_start; /* of the last launch; start in clock ticks since boot. pid 0: no
                             * process; CSE_JOB_LAUNCHING: one may have been started */
    int64_t exit_code;      /* -1: none */
    int64_t cores, memory_bytes;
    int64_t not_before_ms; /* a restart waits until then */
    int64_t kill_at_ms;    /* 0: never */
    int64_t cancelled;     /* a cse_job_end: why its end was asked for */
    int64_t revision;
} cse_job_record;

void cse_job_record_clear(cse_job_record *record);

/* CSE_DATA when the file is something else or of another version. A damaged one is set aside, and
 * what can be read of it goes to a new one; `mended` (may be NULL) gets what was done, in words. */
cse_status cse_jobs_db_open(const char *path, cse_jobs_db **db, cse_text *mended);
void cse_jobs_db_close(cse_jobs_db **db);

/* Appends; `seq` is set. CSE_USAGE when the id is taken. */
cse_status cse_jobs_db_insert(cse_jobs_db *db, cse_job_record *record);
/* Writes all of the record but id, seq, digest and creation. */
cse_status cse_jobs_db_update(cse_jobs_db *db, const cse_job_record *record);
cse_status cse_jobs_db_remove(cse_jobs_db *db, const char *id);
/* Every job in the order of creation; the records are valid during the call. */
cse_status cse_jobs_db_each(cse_jobs_db *db, void (*take)(void *self, const cse_job_record *record),
                            void *self);

/* Changes of state that the server made. */
typedef struct cse_job_transition {
    const char *job;
    int64_t time_ms, attempt;
    cse_run_state from, to; /* from CSE_RUN_NONE: the first */
    const char *reason, *message;
} cse_job_transition;
/* And the state of the job's record, in one transaction. */
cse_status cse_jobs_db_add_transition(cse_jobs_db *db, const cse_job_transition *transition);
cse_status cse_jobs_db_transitions(cse_jobs_db *db, const char *job,
                                   void (*take)(void *self, int64_t seq,
                                                const cse_job_transition *transition),
                                   void *self);

/* Mutating calls. */
typedef struct cse_audit_entry {
    int64_t seq, time_ms, status;
    const char *peer, *method, *path, *job; /* job may be NULL */
    const char *token;                      /* name of the caller's; "": none */
} cse_audit_entry;
cse_status cse_jobs_db_audit(cse_jobs_db *db, const cse_audit_entry *entry);
/* Newest first, before `before` (0: from the newest). */
cse_status cse_jobs_db_audits(cse_jobs_db *db, int64_t before, int64_t limit,
                              void (*take)(void *self, const cse_audit_entry *entry), void *self);

/* Answers by Idempotency-Key, kept for 24 hours. */
typedef struct cse_kept_answer {
    char digest[65]; /* of the request */
    int status;
    char location[256], etag[128];
    cse_text body;
} cse_kept_answer;
/* The first answer to a key is the one that is kept. */
bool cse_jobs_db_find_answer(cse_jobs_db *db, const char *key, cse_kept_answer *answer);
cse_status cse_jobs_db_keep_answer(cse_jobs_db *db, const char *key, const cse_kept_answer *answer);

/* Whether the file can be written now. */
cse_status cse_jobs_db_check(cse_jobs_db *db);

#endif
