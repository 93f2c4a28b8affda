/* The model of a configuration with the weights of a checkpoint, for inference. */
#ifndef CSE_RUN_INFER_LOADED_MODEL_H
#define CSE_RUN_INFER_LOADED_MODEL_H

#include <limits.h>

#include "run/job/job.h"

typedef struct cse_loaded_model {
    cse_model *model;    /* compiled; of the open session */
    char path[PATH_MAX]; /* of the checkpoint */
    int64_t step; /* that it was trained to; 0: not known, as of weights that were converted */
    char described[PATH_MAX + 64]; /* "weights of step 500: PATH", or "weights: PATH" */
} cse_loaded_model;

/* Opens a session for settings of mode CSE_JOB_INFER, and loads the checkpoint that they name, else
 * the newest of model_dir. Close it with cse_finish, also after a failure. */
cse_status cse_loaded_model_open(const cse_job_settings *settings, cse_loaded_model *loaded);

#endif
