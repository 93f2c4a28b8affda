/* Which checkpoints of a run stay: the newest, the best, those that it or a start needs, and those
 * from which its past is near (checkpoint_ladder.h). */
#ifndef CSE_RUN_SAVING_RETENTION_H
#define CSE_RUN_SAVING_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "run/record/recorder.h"

typedef struct cse_retention_options {
    const char *model_dir;
    int64_t keep;           /* newest ones; 0: all stay, unless there is a budget: then one */
    double replay_budget;   /* seconds that a gap between others may take; 0: none of them stays */
    const char *best;       /* metric by which one more stays; NULL: none */
    bool best_is_greatest;  /* else the least value is the best */
    double diverged_factor; /* values of a training that had diverged are not the best */
} cse_retention_options;

/* NULL when all stay. Texts are borrowed. Reads what earlier starts of the run wrote from its run
 * store; call it before the store is opened for writing. */
typedef struct cse_retention cse_retention;
cse_retention *cse_retention_new(const cse_retention_options *options);
void cse_retention_destroy(cse_retention **retention);

/* This file was named to be loaded, and therefore stays. */
void cse_retention_named(cse_retention *retention, const char *path);
/* A checkpoint of the run was written under its usual name. */
void cse_retention_written(cse_retention *retention, int64_t step);
/* A value of a metric, of the weights after `step` steps. */
void cse_retention_metric(cse_retention *retention, const char *name, int64_t step, double value);

/* Seconds that a step takes, as far as they were measured: with a budget none goes before. */
void cse_retention_step_seconds(cse_retention *retention, double seconds);

/* Removes those that are not to stay and tells each to the recorder (NULL: nobody). One that cannot
 * be removed stays, with a warning. */
void cse_retention_apply(cse_retention *retention, cse_recorder *recorder);

#endif
