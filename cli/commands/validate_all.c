/* `csengine validate_all`: loss and metrics of several checkpoints over the validation data. */
#include <stddef.h>

#include "cli/runs/job.h"

static int run(const cse_command_line *line)
{
    return cse_job_evaluate(line, CSE_JOB_EVALUATE_ALL);
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_EVALUATION_OPTIONS,
    { "checkpoints", "[FILE]", "trainer.validate_all.ckpt_paths", NULL },
    { "json", NULL, NULL, "prints JSON lines: the metrics of each checkpoint and the result" },
    { "quiet", NULL, NULL, "prints only errors and the metrics" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "validate_all configs/fc_mnist.yaml", "every checkpoint of model_dir" },
    { "validate_all configs/fc_mnist.yaml --checkpoints '[model_dir/fc_mnist/checkpoint_1*.mdl]'",
      "those that the pattern matches" },
    { 0 },
};

const cse_command cse_command_validate_all = {
    .name = "validate_all",
    .group = CSE_GROUP_RUN,
    .summary = "evaluates several checkpoints on each data loader of the validation",
    .arguments = "CONFIG.yaml",
    .doc = "The checkpoints are those that the patterns of trainer.validate_all.ckpt_paths match,\n"
           "by their step, or else all of model_dir. The data are those of\n"
           "trainer.validate_all.val_dataloaders, or else of trainer.fit.val_dataloader. The\n"
           "result at the end is that of the last checkpoint.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
