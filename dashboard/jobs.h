/* The jobs that a server knows: one run that somebody else started, or a root's queue.
 *
 * In a root each job has a directory of its own, its process is a `csengine start` that leads a
 * session of its own, and everything about it stands in files: jobs.db says what was asked and
 * which process was started, the run's lock says whether it lives, the run store says what it does.
 * So the server may be killed at any instant: the jobs go on, and the next server reads how they
 * stand. A root has one server, which holds a lock. */
#ifndef CSE_DASHBOARD_JOBS_H
#define CSE_DASHBOARD_JOBS_H

#include <jansson.h>

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

/* CSE_TEMPORARY when another server has the root; CSE_NO_INPUT when the run has no store. */
cse_status cse_jobs_open(const cse_jobs_options *options, cse_jobs **jobs);
/* The jobs go on. */
void cse_jobs_close(cse_jobs **jobs);

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

/* What is asked for, checked by its schema. */
typedef struct cse_job_request {
    const char *id;     /* NULL: the server chooses */
    const json_t *spec; /* JobSpec */
} cse_job_request;

typedef enum cse_job_outcome {
    CSE_JOB_CREATED,
    CSE_JOB_KNOWN,     /* the same id with the same body */
    CSE_JOB_TAKEN,     /* the same id with another body */
    CSE_JOB_WRONG,     /* the configuration; `diagnostics` is filled */
    CSE_JOB_NO_ORIGIN, /* what resume_from names is not there; `error` with its message */
    CSE_JOB_ERROR,     /* `error` with its message */
} cse_job_outcome;
/* `diagnostics`: an array that gets Diagnostic objects. `job` is filled when created or known. */
cse_job_outcome cse_jobs_create(cse_jobs *jobs, const cse_job_request *request, cse_job *job,
                                json_t *diagnostics, cse_status *error);

/* Name, labels, priority as a merge patch. CSE_NO_INPUT: no such job; CSE_DATA: it has another
 * revision than `revision` (-1: any). */
cse_status cse_jobs_patch(cse_jobs *jobs, const char *id, int64_t revision, const json_t *patch);
/* With all files. CSE_USAGE while it has not ended. */
cse_status cse_jobs_remove(cse_jobs *jobs, const char *id, int64_t revision);

typedef struct cse_job_command {
    const char *command; /* "pause", "resume", "checkpoint", "cancel", "kill", "scale" */
    const char *message;
    bool save;
    double grace_s; /* negative: none was given */
    int64_t num_csx;
} cse_job_command;
/* CSE_NO_INPUT: no such job; CSE_USAGE: makes no sense in its state; else as the run answers.
 * `detail` says what happens. A command whose effect is there already is no failure. */
cse_status cse_jobs_do(cse_jobs *jobs, const char *id, const cse_job_command *command,
                       char detail[256]);
/* Whether the command makes sense now. */
bool cse_job_can(const cse_jobs *jobs, const cse_job *job, const char *command);
extern const char *const cse_job_commands[];

typedef struct cse_job_budget {
    int64_t cores, memory_bytes, used_cores, used_memory_bytes;
    int64_t states[CSE_RUN_STATE_COUNT];
} cse_job_budget;
cse_job_budget cse_jobs_budget(cse_jobs *jobs);
/* Directory that holds the runs. Borrowed. */
const char *cse_jobs_directory_view(const cse_jobs *jobs);
const char *cse_jobs_executable_view(const cse_jobs *jobs);

/* Job as the API shows it. */
json_t *cse_job_json(cse_jobs *jobs, const cse_job *job);
/* Changes of state, the server's and the run's, in order. */
json_t *cse_job_transitions_json(cse_jobs *jobs, const cse_job *job);

/* "key=value" words as an object, and back. */
json_t *cse_labels_from_words(const json_t *words);
json_t *cse_labels_to_words(const json_t *labels);

/* What a configuration says of a job. */
typedef struct cse_config_facts {
    int64_t num_csx;
    json_t *label_words; /* array of "key=value"; the caller's; NULL on failure */
} cse_config_facts;

/* Settings, with these overrides (path -> value, or NULL), against their tables, in this process,
 * without a model: appends what is wrong, all of it. `facts` may be NULL. */
bool cse_check_settings(const char *yaml, const json_t *overrides, json_t *diagnostics,
                        cse_config_facts *facts);

#endif
