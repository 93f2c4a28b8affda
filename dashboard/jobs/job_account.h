/* The account of cores and memory: what a job takes, whether it can ever have that, and whether it
 * can have it now.
 *
 * A job takes what its plan says (workers/control/execution_needs.h), or more where its request
 * states more. What no plan says, since a program or a library decides it, is what the request
 * states, or a default. */
#ifndef CSE_DASHBOARD_JOBS_JOB_ACCOUNT_H
#define CSE_DASHBOARD_JOBS_JOB_ACCOUNT_H

#include "dashboard/checks/check.h"
#include "dashboard/jobs/job_table.h"

enum { CSE_UNKNOWN_JOB_MIB = 512 }; /* of a job whose memory nothing tells */

typedef struct cse_job_demand {
    int64_t cores, memory_bytes;
} cse_job_demand;

/* A job that is asked for. */
typedef struct cse_job_asked {
    const cse_grant *grant;        /* of who asks; NULL: no limits beside the server's */
    const json_t *spec;            /* JobSpec */
    const cse_config_facts *facts; /* what its check has found */
} cse_job_asked;

/* What the job takes. False where it states less than that, or takes more than the server, or the
 * token, may ever give: `diagnostics` says what, the limit, and its setting. */
bool cse_job_account_demand(const cse_jobs *jobs, const cse_job_asked *asked,
                            cse_job_demand *demand, json_t *diagnostics);

/* The next three with the lock held. Whether the server has now what a job that waits takes; `why`
 * says what it waits for. */
bool cse_job_account_fits(const cse_jobs *jobs, const cse_job_entry *entry, char *why, size_t size);

/* Whether a job that waits is held back by limits that free cores of the server do not end: those
 * of its token, or since the server was started with less than the job takes. Such a job delays no
 * other. */
bool cse_job_account_holds(const cse_jobs *jobs, const cse_job_entry *entry, char *why,
                           size_t size);

/* CSE_CONFIG where the job takes more than the server, or its token, may ever give. */
cse_status cse_job_account_may_ever(const cse_jobs *jobs, const cse_job_record *record);

/* With the lock held. CSE_USAGE where the token has as many jobs that have not ended as it may. */
cse_status cse_job_account_count(const cse_jobs *jobs, const cse_grant *grant);

/* The grant of a name; NULL: there is no such token. */
const cse_grant *cse_jobs_grant(const cse_jobs *jobs, const char *name);

#endif
