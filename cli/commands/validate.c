/* `csengine validate`: loss and metrics of one checkpoint over the validation data. */
#include <stddef.h>

#include "cli/runs/job.h"

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_EVALUATION_OPTIONS,
    { "checkpoint", "FILE", "fit.ckpt_path", "the checkpoint; as --checkpoint_path" },
    CSE_EVALUATION_OUTPUT_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "validate configs/fc_mnist.yaml --checkpoint model_dir/fc_mnist/checkpoint_1872.mdl",
      "loss and accuracy of one checkpoint" },
    { 0 },
};

const cse_command cse_command_validate = {
    .name = "validate",
    .group = CSE_GROUP_RUN,
    .summary = "evaluates a checkpoint on each data loader of the validation",
    .arguments = "CONFIG.yaml",
    .doc = "The data are those of trainer.validate.val_dataloader, or else of\n"
           "trainer.fit.val_dataloader: one, or a list. With several the metrics are named\n"
           "validate_0/loss, validate_1/loss, in the order of the list. Takes --checkpoint,\n"
           "trainer.validate.ckpt_path, or else the newest checkpoint of model_dir.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = cse_job_evaluate_one,
};
