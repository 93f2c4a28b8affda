/* The counts of a validation's confusion matrix, for people: in the job's result and in the run
 * store, as confusion.json. */
#ifndef CSE_RUN_JOB_JOB_CONFUSION_H
#define CSE_RUN_JOB_JOB_CONFUSION_H

#include <jansson.h>

#include "run/job/job_parts.h"

/* Takes the counts where the metric of that place is a confusion matrix; `name` is its series. */
cse_status cse_job_take_confusion(cse_job *job, int metric, const char *name);
/* After a validation: hands what was taken to the recorder. */
void cse_job_record_confusions(const cse_job *job);

/* {name, step, classes: [...] or null, counts: [[...], ...]} */
json_t *cse_job_confusion_json(const cse_job_confusion *confusion);

#endif
