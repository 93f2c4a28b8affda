/* `csengine eval`: loss and metrics over the validation data. */
#include <stddef.h>

#include "cli/job.h"

static const cse_option options[] = {
    CSE_JOB_OPTIONS, CSE_RUN_OPTIONS, CSE_EVALUATION_OPTIONS, CSE_EVALUATION_OUTPUT_OPTIONS, { 0 },
};

static const cse_command_note examples[] = {
    { "eval configs/fc_mnist.yaml --checkpoint_path model_dir/fc_mnist/checkpoint_1872.mdl",
      "loss and accuracy of one checkpoint" },
    { 0 },
};

const cse_command cse_command_eval = {
    .name = "eval",
    .group = CSE_GROUP_RUN,
    .summary = "evaluates a checkpoint on the validation data",
    .arguments = "CONFIG.yaml",
    .doc =
        "The same as `csengine validate`: takes --checkpoint_path, or else the newest checkpoint\n"
        "of model_dir.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .run = cse_job_evaluate_one,
};
