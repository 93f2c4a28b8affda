/* A run as a batch job of Slurm: submitted once, and waited for as if it ran here. */
#ifndef CSE_RUN_HOSTS_BATCH_RUN_H
#define CSE_RUN_HOSTS_BATCH_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_batch_run {
    const char *configuration, *model_dir;
    const char *launcher_options; /* of sbatch; may be NULL */
    const char *const *arguments; /* of `csengine start` in the job, NULL-terminated */
    bool returns_at_once;         /* once Slurm has the job */
    /* What the job has printed since the last call. */
    void (*on_output)(void *self, const char *bytes, size_t size);
    /* Waits for up to a second: 0, or 1: the job is to end with a checkpoint, 2: at once. */
    int (*wait)(void *self);
    void *self;
} cse_batch_run;

/* Submits the run and waits for its end. A job of this run that Slurm has already is not submitted
 * again, but waited for. A job that is asked to end a second time ends at once. `exit_code`: of the
 * job, which is not 0 and comes with CSE_OK where the run has said itself why it failed; else
 * unchanged where the job has not ended. */
cse_status cse_batch_run_wait(const cse_batch_run *run, int *exit_code);

#endif
