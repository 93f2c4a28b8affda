/* What is read from a run store: once for each settled job, and again when the store has changed.
 *
 * It is kept in memory and in derived.db under its source: the files of the store
 * (store/identity.h), what of the job's record enters it, and the program that reads. So a run that
 * somebody went on with, replaced or mended is read anew, and so is all by another build of the
 * server; where its folder is gone, what was known of its last attempt stays known, to later
 * servers as well. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_DERIVED_H
#define CSE_DASHBOARD_QUEUE_JOB_DERIVED_H

#include "dashboard/jobs/job_table.h"

typedef json_t *cse_job_read(cse_jobs *jobs, const cse_job *job, const void *asked);

/* What is kept of the kind, or else what `read` gives. The caller owns a reference to it, and
 * changes nothing in it. */
json_t *cse_job_derived(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind,
                        cse_job_read *read, const void *asked);
/* What `read` gives; it takes the place of what is kept. */
json_t *cse_job_derived_anew(cse_jobs *jobs, const cse_job *job, cse_derived_kind kind,
                             cse_job_read *read, const void *asked);

#endif
