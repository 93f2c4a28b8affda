/* One check of what is to become a job, for every way in: a request to validate it, to create it,
 * to change the number of its replicas. What it refuses is not taken by any of them. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_CHECK_H
#define CSE_DASHBOARD_QUEUE_JOB_CHECK_H

#include "dashboard/jobs/job_account.h"

typedef struct cse_job_check {
    const json_t *spec;     /* JobSpec */
    const char *config;     /* its text, where it is not in `spec`; or NULL */
    const char *folder;     /* of the job, where that is there already; or NULL */
    const cse_grant *grant; /* of who asks; NULL: no limits beside the server's */
    int client;             /* as in cse_check */
    bool settings_only;     /* the model is not traced */
} cse_job_check;

/* Appends to `found` what is wrong and what to warn of; nothing wrong: the job may be taken, and
 * takes `demand`. Clear the facts. CSE_TEMPORARY when the check itself could not be made now. */
cse_status cse_job_check_spec(const cse_jobs *jobs, const cse_job_check *check,
                              const cse_check_result *found, cse_config_facts *facts,
                              cse_job_demand *demand);
void cse_config_facts_clear(cse_config_facts *facts);

#endif
