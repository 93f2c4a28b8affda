/* A job's training step, run in this process as a single replica runs it: input, forward and
 * backward, reduction and update, on a shared arena. So a bench can run the steps of several
 * configurations in turns. */
#ifndef CSE_RUN_MEASURE_STEP_RUNNER_H
#define CSE_RUN_MEASURE_STEP_RUNNER_H

#include "run/job/job.h"
#include "workers/control/execution.h"

typedef struct cse_step_runner cse_step_runner;

/* Compiles the job's training step alone, where its compile_dir has none yet: result->
 * artefact_directory. */
cse_status cse_step_runner_compile(const cse_job_settings *settings, cse_job_result *result);

/* Compiles the job's training step and opens it for at most `most_steps` steps, from its initial
 * states. */
cse_status cse_step_runner_new(const cse_job_settings *settings, int64_t most_steps,
                               cse_step_runner **runner);
/* The same for a job whose states are in a file, without the file and the disk's time: the states
 * are zeros, and of what the step changes no more is in memory than states.memory says. */
cse_status cse_step_runner_new_streamed(const cse_job_settings *settings, int64_t most_steps,
                                        cse_step_runner **runner);
void cse_step_runner_destroy(cse_step_runner **runner);

/* How long a step took: wall-clock and processor time; they differ when other processes compete. Of
 * the clock's: reading input, and gradients of microbatches with what is summed as they come; what
 * is left is the sums, the norm and the update. */
typedef struct cse_step_time {
    int64_t clock_ns, processor_ns;
    int64_t input_ns, gradients_ns;
} cse_step_time;

/* One whole step. */
cse_status cse_step_runner_run(cse_step_runner *runner, cse_step_time *taken);

/* One whole step that times its kernels: `times` has room for each group of the graph, *count
 * becomes how many are filled. */
cse_status cse_step_runner_run_timed(cse_step_runner *runner, cse_step_time *taken,
                                     cse_kernel_time *times, int *count);

/* Of `count` measured values, which it sorts; at least one. */
double cse_median_of_times(double *values, int64_t count);

/* The arena that it runs in; borrowed. */
const cse_cluster *cse_step_runner_cluster_view(const cse_step_runner *runner);

/* The planned step; borrowed. */
const cse_graph *cse_step_runner_graph_view(const cse_step_runner *runner);

/* Samples of a step. */
int64_t cse_step_runner_batch_size(const cse_step_runner *runner);

#endif
