/* `csengine fine-tune`: a model of another program learns from conversations. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/models/fine_tuning.h"
#include "cli/runs/dashboard_child.h"
#include "cli/runs/start_job.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/formats/checkpoint/checkpoint.h"

static cse_status write_output(const char *path, const cse_text *text)
{
    if (strcmp(path, "-") == 0) {
        cse_print("%s", text->data);
        return CSE_OK;
    }
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return cse_fail(CSE_CANNOT_CREATE, "fine-tune: %s: %s", path, strerror(errno));
    const bool written = write(file, text->data, text->size) == (ssize_t)text->size;
    const int failure = errno;
    if (close(file) == 0 && written)
        return CSE_OK;
    unlink(path);
    return cse_fail(CSE_IO, "fine-tune: %s: %s", path, strerror(failure));
}

/* As the configuration would be called, which messages name. */
static cse_command_line named(const cse_command_line *line)
{
    cse_command_line configuration = *line;
    configuration.argument_count = 1;
    return configuration;
}

/* What can be done with what was trained. */
static void tell_next(const cse_command_line *line, const char *model_dir)
{
    char checkpoint[PATH_MAX];
    if (cse_option_is_on(line, "quiet") || cse_option_is_on(line, "json") ||
        cse_option_is_on(line, "detach") || model_dir == NULL ||
        cse_checkpoint_latest(model_dir, checkpoint, sizeof checkpoint) != CSE_OK)
        return;
    cse_print("\nTalk with it, and take it to llama.cpp or transformers:\n"
              "  csengine chat %s\n"
              "  csengine checkpoint convert %s %s.gguf --dtype q8_0\n"
              "  csengine checkpoint convert %s %s-folder\n",
              model_dir, checkpoint, model_dir, checkpoint, model_dir);
    const char *method = cse_option_value(line, "method");
    if (method == NULL || strcmp(method, "full") != 0)
        cse_print("The adapter alone, for PEFT:\n"
                  "  csengine checkpoint convert %s %s-adapter --to peft\n",
                  checkpoint, model_dir);
}

static int train(const cse_command_line *line, const cse_text *configuration)
{
    cse_prepared_job job;
    const cse_command_line of_job = named(line);
    cse_status status = cse_job_prepare_text(&of_job, configuration->data, CSE_JOB_TRAIN, &job);
    job.environment.run_store = true;
    const int exit_code =
        status != CSE_OK ? cse_job_report(line, &job, status) : cse_start_job(&of_job, &job);
    if (exit_code == 0)
        tell_next(line, job.settings.session.model_dir);
    cse_job_clear(&job);
    return exit_code;
}

static int run(const cse_command_line *line)
{
    cse_fine_tuning tuning;
    cse_text configuration = { 0 };
    const char *listen = cse_option_value(line, "listen");
    const cse_command_line of_job = named(line);
    cse_status status = listen != NULL ? cse_dashboard_child_check(listen) : CSE_OK;
    if (status == CSE_OK)
        status = cse_fine_tuning_read(line, &tuning);
    if (status == CSE_OK)
        status = cse_fine_tuning_write(&of_job, &tuning, &configuration);
    if (status == CSE_OK && tuning.output != NULL)
        status = write_output(tuning.output, &configuration);
    const int exit_code = status != CSE_OK        ? cse_report(status)
                          : tuning.output != NULL ? 0
                                                  : train(line, &configuration);
    cse_text_clear(&configuration);
    return exit_code;
}

static const cse_option options[] = {
    { "method", "METHOD", NULL,
      "what is trained: lora (default) or dora, an adapter beside all linear layers, or full, all "
      "weights" },
    { "rank", "N", NULL, "of the adapter; 16" },
    { "learning_rate", "X", NULL,
      "the highest; after a warm-up it falls by half a cosine to 0; without it 2e-5 of full, of an "
      "adapter by the model's width: 1e-3 of 135M, 4.9e-4 of 1B, 3.6e-4 of 3B parameters" },
    { "num_epochs", "N", NULL,
      "how often each conversation is seen; 3, and up to 6 where those are fewer than 60 steps" },
    { "batch_size", "N", NULL,
      "samples of a step, each of which may hold several conversations; 2" },
    { "sequence_length", "N", NULL,
      "tokens of a sample, which holds as many conversations as fit; 512, or the model's places" },
    { "loss_on", "TOKENS", NULL,
      "answers (default), last_answer or all: the tokens that are learned" },
    { "validation", "PATH", NULL,
      "conversations of which only the loss is computed: they are not learned" },
    { "output", "CONFIG.yaml", NULL,
      "writes the configuration there (-: to standard output), and trains nothing" },
    CSE_JOB_OPTIONS,
    CSE_RUN_OPTIONS,
    CSE_START_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "fine-tune SmolLM2-135M-Instruct.gguf talks.jsonl --model_dir tuned",
      "trains an adapter of a packed model on conversations" },
    { "fine-tune ./Qwen3-0.6B talks.jsonl --method full --output tune.yaml",
      "writes the configuration that trains all weights, to be changed and started" },
    { 0 },
};

const cse_command cse_command_fine_tune = {
    .name = "fine-tune",
    .group = CSE_GROUP_RUN,
    .summary = "trains a model of another program on conversations",
    .arguments = "FOLDER|MODEL.gguf CONVERSATIONS ...",
    .doc =
        "Takes a folder of Hugging Face or a GGUF file, and conversations in the forms that the\n"
        "input function `conversations` reads, and trains an adapter or the model. What it runs\n"
        "is a configuration as any other, which --output writes; --set changes any setting of\n"
        "it. The same command continues a run that was stopped. `csengine chat` talks with the\n"
        "folder of the run, `csengine checkpoint convert` takes its checkpoint elsewhere.",
    .options = options,
    .letters = "q=quiet",
    .values = "method=lora|dora|full loss_on=answers|last_answer|all",
    .min_arguments = 2,
    .max_arguments = 10000,
    .examples = examples,
    .computes = true,
    .run = run,
};
