/* Where a job begins: what the run before it in model_dir left, and what that means for this one.
 */
#ifndef CSE_RUN_JOB_JOB_START_H
#define CSE_RUN_JOB_JOB_START_H

#include <limits.h>

#include "engine/base/text.h"
#include "run/session/session.h"

/* The last run of model_dir, from its run store; zeroes when there is none. */
typedef struct cse_previous_run {
    bool diverged; /* it FAILED for NUMERICS or as DIVERGED, after `steps_done` steps */
    int64_t steps_done;
} cse_previous_run;

void cse_previous_run_read(const char *model_dir, cse_previous_run *previous);

/* Fails with CSE_CANNOT_CREATE, and the ways out, when a job that starts afresh would write its
 * checkpoints among those of an earlier run in model_dir. */
cse_status cse_check_fresh_start(const char *model_dir);

/* Fails with CSE_CANNOT_CREATE when model_dir has checkpoints of an earlier run and none is whole:
 * steps that were done are not done again without a word. */
cse_status cse_check_damaged_start(const char *model_dir);

/* Adds what a run that goes on from `step` does to the checkpoints of an earlier one, if there are
 * later ones in model_dir. */
void cse_tell_overwriting(const char *model_dir, int64_t step, cse_text *text);

/* Appends why weights that were loaded from `path` should not be trained on, and how to start from
 * an earlier checkpoint; nothing when there is no sign of divergence. The signs: a weight that is
 * not finite or greater than 2^24, or, for the newest checkpoint, a run that ended by divergence.
 */
void cse_tell_divergence(cse_session *session, const char *path, const cse_previous_run *previous,
                         cse_text *text);

/* The path of the checkpoint that a failed run leaves. One that diverged gets a name that no start
 * loads by itself, so that the newest checkpoint is the last sound one. */
void cse_failed_checkpoint_path(cse_session *session, const char *directory, int64_t step,
                                char path[PATH_MAX]);

/* The message of a job that has no step to do. */
void cse_tell_complete(const cse_session_report *report, const char *model_dir, cse_text *text);

#endif
