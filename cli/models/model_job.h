/* What the commands that run a trained model take as their argument: a configuration, or weights
 * that say themselves what model they are of. */
#ifndef CSE_CLI_MODELS_MODEL_JOB_H
#define CSE_CLI_MODELS_MODEL_JOB_H

#include "cli/runs/job.h"

/* cse_job_prepare of the first argument for inference: CONFIG.yaml; a folder of Hugging Face, a
 * GGUF file or another file of weights, or a checkpoint, of which the configuration is made. The
 * command has CSE_INFERENCE_OPTIONS. Release with cse_job_clear, also after a failure. */
cse_status cse_model_prepare(const cse_command_line *line, cse_prepared_job *job);

/* The folder of a run stands for its newest checkpoint, whose path is put into `newest`
 * [PATH_MAX]; else `path`. */
const char *cse_newest_weights(const char *path, char *newest);

#endif
