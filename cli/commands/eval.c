/* `csengine eval`: loss and metrics over the validation data. */
#include <stddef.h>

#include "cli/arguments/command_line.h"
#include "cli/models/evaluate_tasks.h"
#include "cli/runs/job.h"

static int run(const cse_command_line *line)
{
    return cse_option_value(line, "tasks") != NULL ? cse_evaluate_tasks(line)
                                                   : cse_job_evaluate_one(line);
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    CSE_RUN_OPTIONS,
    CSE_EVALUATION_OPTIONS,
    CSE_EVALUATION_OUTPUT_OPTIONS,
    { "tasks", "FILE.jsonl", NULL,
      "measures a language model on these tasks instead of the validation data; repeatable" },
    { "tokenizer", "PATH", NULL,
      "of the tasks: tokenizer.json, or a folder that holds it; without it that of model_dir, or "
      "bytes" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "eval configs/fc_mnist.yaml --checkpoint_path model_dir/fc_mnist/checkpoint_1872.mdl",
      "loss and accuracy of one checkpoint" },
    { "eval configs/gpt2_bytes.yaml --tasks questions.jsonl",
      "how many questions a language model answers" },
    { 0 },
};

const cse_command cse_command_eval = {
    .name = "eval",
    .group = CSE_GROUP_RUN,
    .summary = "evaluates a checkpoint on the validation data",
    .arguments = "CONFIG.yaml",
    .doc =
        "The same as `csengine validate`: takes --checkpoint_path, or else the newest checkpoint\n"
        "of model_dir.\n"
        "With --tasks each line of the files is a text, {\"text\": \"...\"}, whose perplexity is "
        "measured, or a question, {\"context\": \"...\", \"choices\": [\"...\", \"...\"], "
        "\"answer\": N}: acc is the share of questions whose most likely choice is the right one, "
        "acc_norm that by the log likelihood divided by the bytes of the choice.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
