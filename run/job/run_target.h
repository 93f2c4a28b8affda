/* Where a run ends, decided once.
 *
 * What its limits count from is known only when a run starts: `--num_steps N` asks for N steps from
 * there. So what they decided is written down then, in MODEL_DIR/unfinished.json, and the run's end
 * removes that file, as the last thing that its first process does. While the file is there, the
 * run is unfinished: the same command goes on to the end that the file names, whatever ended the
 * processes before. Other limits decide anew, which is told. */
#ifndef CSE_RUN_JOB_RUN_TARGET_H
#define CSE_RUN_JOB_RUN_TARGET_H

#include <limits.h>

#include "run/job/job.h"

typedef struct cse_run_target {
    int64_t first_step, last_step;
    const char *length;   /* the limits that were given, as words: "--num_steps 2000" */
    const char *settings; /* those that can change a bit (cse_settings_effective); "": not known */
    uint64_t seed;
} cse_run_target;

/* What a job's own settings say: all but the steps. In `arena`. */
cse_run_target cse_run_target_of(const cse_job_settings *settings, cse_arena *arena);

/* The unfinished run of model_dir, in `arena`; NULL: there is none. CSE_DATA for a file that no
 * run has written. */
cse_status cse_run_target_read(const char *model_dir, cse_arena *arena,
                               const cse_run_target **target);
/* Returns when it lasts. */
cse_status cse_run_target_keep(const char *model_dir, const cse_run_target *target);
void cse_run_target_remove(const char *model_dir);
/* The file's path; false: it would be too long. */
bool cse_run_target_path(const char *model_dir, char path[PATH_MAX]);

/* Appends each setting that can change a bit and is another one now: "optimizer.SGD.lr 0.05 (it
 * began with 0.1)". */
void cse_run_target_changes(const cse_run_target *before, const cse_run_target *now,
                            cse_text *text);

#endif
