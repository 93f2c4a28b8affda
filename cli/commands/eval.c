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
    { "tasks", "[NAME=]FILE.jsonl", NULL,
      "measures a language model on these tasks instead of the validation data: rows of the data "
      "set of that name, or else texts and questions; repeatable" },
    { "num_fewshot", "N", NULL,
      "of tasks with a name: so many examples stand before each question; 0" },
    { "fewshot_data", "NAME=FILE.jsonl", NULL,
      "the rows that these examples are, the first ones of the question's subject; repeatable" },
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
    { "eval ./gpt2 --tasks hellaswag=validation.jsonl", "a benchmark of a folder of Hugging Face" },
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
        "acc_norm that by the log likelihood divided by the bytes of the choice.\n"
        "With --tasks NAME=FILE the lines are rows of a data set as it comes, and prompts, tokens "
        "and measures are those of the lm-evaluation-harness: arc_challenge, arc_easy, hellaswag, "
        "lambada_openai, mmlu, piqa. Then the argument may also be weights that say what model "
        "they are of: a folder of Hugging Face, a GGUF file, a checkpoint.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
