/* What people see of a training's data and of its model: samples that the next step takes, and at
 * each validation what the model makes of the first samples of the validation and of prompts.
 *
 * All of it is computed in the coordinator between two executions, by the weights as they stand; no
 * state, no order of samples and no number that the run draws depends on it. It is kept in the run
 * store, as `data.json` and `samples.json`. A failure is told once, and ends it, not the run. */
#ifndef CSE_RUN_INFER_RUN_SAMPLES_H
#define CSE_RUN_INFER_RUN_SAMPLES_H

#include "run/job/job.h"

typedef struct cse_run_samples cse_run_samples;

/* By the section `samples` of the settings. */
cse_run_samples *cse_run_samples_new(const cse_job_settings *settings);
void cse_run_samples_destroy(cse_run_samples **samples);

/* For cse_job_environment.on_look; `self`: the samples. */
void cse_run_samples_look(void *self, const cse_job_look *look);

#endif
