/* A job's training step, run in this process: what one replica does alone, with its input, the
 * reduction and the update, on the shared arena and with the code of every job. So that a bench can
 * run the steps of several configurations in turns. */
#ifndef CSE_CLI_STEP_RUNNER_H
#define CSE_CLI_STEP_RUNNER_H

#include "engine/session/job.h"

typedef struct cse_step_runner cse_step_runner;

/* Compiles the job's training step and opens it for at most `most_steps` steps, from its initial
 * states. */
cse_status cse_step_runner_new(const cse_job_settings *settings, int64_t most_steps,
                               cse_step_runner **runner);
void cse_step_runner_destroy(cse_step_runner **runner);

/* One whole step; `taken_ns` is how long it took. */
cse_status cse_step_runner_run(cse_step_runner *runner, int64_t *taken_ns);

/* Samples of a step. */
int64_t cse_step_runner_batch_size(const cse_step_runner *runner);

#endif
