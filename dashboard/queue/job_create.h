/* New jobs in the queue of a root. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_CREATE_H
#define CSE_DASHBOARD_QUEUE_JOB_CREATE_H

#include "dashboard/checks/check.h"
#include "dashboard/jobs/job_table.h"

/* A requested job, checked by its schema. */
typedef struct cse_job_request {
    const char *id;         /* NULL: the server chooses */
    const json_t *spec;     /* JobSpec */
    const cse_grant *grant; /* of who asks; NULL: no limits beside the server's */
    int client; /* socket of who asks: when it is closed, the check ends; -1: nobody's */
} cse_job_request;

typedef enum cse_job_outcome {
    CSE_JOB_CREATED,
    CSE_JOB_KNOWN,     /* the same id with the same body */
    CSE_JOB_TAKEN,     /* the same id with another body */
    CSE_JOB_WRONG,     /* the configuration; `found->diagnostics` is filled */
    CSE_JOB_TOO_MANY,  /* of the token's jobs have not ended; `error` with its message */
    CSE_JOB_NO_ORIGIN, /* what resume_from names is not there; `error` with its message */
    CSE_JOB_ERROR,     /* `error` with its message */
} cse_job_outcome;
/* `found` gets what is wrong and what to warn of. `job` is filled when created or known. */
cse_job_outcome cse_jobs_create(cse_jobs *jobs, const cse_job_request *request, cse_job *job,
                                const cse_check_result *found, cse_status *error);

/* Makes an id of the last part of a path, or of a name. */
void cse_job_id_from_path(const char *path, char *id, size_t size);

#endif
