/* `csengine tune-precision`: finds the lowest precision of each layer that keeps the loss
 * (run/measure/precision_tuning.h), and writes it as a configuration with the trials in comments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/row_progress.h"
#include "run/measure/precision_tuning.h"

/* CONFIG.tuned.yaml in the working directory. */
static void default_output(const char *config, cse_text *path)
{
    const char *slash = strrchr(config, '/'), *name = slash != NULL ? slash + 1 : config;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".yaml") == 0)
        length -= 5;
    cse_text_add(path, "%.*s.tuned.yaml", (int)length, name);
}

static cse_status read_options(const cse_command_line *line, cse_tuning_options *o,
                               cse_text *output)
{
    static const char *const formats[] = { "bfloat16", "float16", "cbfloat16", NULL };
    static const char *const presets[] = { "mp1", "mp2", "mp3", "mp4", NULL };
    static const double tolerances[] = { 0, 1e6 };
    static const int64_t steps[] = { 1, 1000000000 };
    CSE_TRY(cse_option_number(line, "tolerance", tolerances, &o->tolerance));
    CSE_TRY(cse_option_integer(line, "steps", steps, &o->steps));
    CSE_TRY(cse_option_word(line, "fp16_type", formats, &o->format));
    CSE_TRY(cse_option_word(line, "preset", presets, &o->preset));
    if (cse_option_value(line, "output") != NULL)
        cse_text_add(output, "%s", cse_option_value(line, "output"));
    else
        default_output(o->config, output);
    if (strcmp(output->data, "-") != 0 && access(output->data, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE,
                        "tune-precision: %s is there already; move it away, or name another file "
                        "with --output (- is standard output)",
                        output->data);
    return CSE_OK;
}

/* What is shown while it searches. */
typedef struct search_output {
    bool json, quiet;
    cse_row_progress progress;
} search_output;

static void show_start(void *self, int layer_count, double loss_float32)
{
    search_output *o = self;
    cse_rows_lock_done(&o->progress);
    if (o->json) {
        json_t *object = json_pack("{s:s, s:i, s:f}", "event", "start", "layers", layer_count,
                                   "loss_float32", loss_float32);
        cse_json_print(object);
        json_decref(object);
    } else if (!o->quiet) {
        cse_print_to(stderr, "%d layers, loss in float32 %.6g\n%s\n", layer_count, loss_float32,
                     cse_tuning_heads);
    }
    fflush(stdout);
    cse_rows_unlock(&o->progress);
    cse_rows_begin(&o->progress, "");
}

static void print_trial_json(const search_output *o, const cse_tuning_trial *trial)
{
    json_t *object = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:b, s:f, s:i}", "event", "trial", "trial", trial->number,
        "fp32", trial->layers[CSE_TUNING_FP32], "pol_0", trial->layers[CSE_TUNING_POL_0], "pol_1",
        trial->layers[CSE_TUNING_POL_1], "pol_2", trial->layers[CSE_TUNING_POL_2], "accepted",
        trial->accepted, "seconds", trial->seconds, "most_trials_left", trial->most_left);
    json_object_set_new(object, "loss", cse_json_finite(trial->loss));
    json_object_set_new(object, "percent_against_fp32", cse_json_finite(100 * trial->change));
    json_object_set_new(object, "most_seconds_left",
                        cse_json_finite(cse_rows_seconds_left(&o->progress)));
    cse_json_print(object);
    json_decref(object);
}

/* The training in float32 counts as a row, since the time of a trial is estimated from it too. */
static void show_trial(void *self, const cse_tuning_trial *trial)
{
    search_output *o = self;
    cse_text row = { 0 };
    cse_rows_lock_done(&o->progress);
    o->progress.rows = o->progress.done + trial->most_left;
    cse_tuning_print_trial(trial, &row);
    if (o->json)
        print_trial_json(o, trial);
    else if (!o->quiet)
        cse_print_to(stderr, "%s\n", row.data);
    fflush(stdout);
    cse_text_clear(&row);
    cse_rows_unlock(&o->progress);
    cse_rows_begin(&o->progress, "");
}

static void note_step(void *self, int64_t step)
{
    cse_rows_step(&((search_output *)self)->progress, step);
}

static void print_end_json(const char *path, const cse_tuning *tuning)
{
    static const char *const levels[] = { "fp32", "pol_0", "pol_1", "pol_2" };
    json_t *layers = json_object();
    for (int i = 0; i < tuning->layer_count; i++)
        json_object_set_new(layers, tuning->layers[i], json_string(levels[tuning->levels[i]]));
    json_t *object =
        json_pack("{s:s, s:s, s:f, s:f, s:o}", "event", "end", "output", path, "loss_float32",
                  tuning->loss_float32, "loss", tuning->loss, "layers", layers);
    cse_json_print(object);
    json_decref(object);
}

static cse_status write_file(const char *path, const cse_text *text)
{
    if (strcmp(path, "-") == 0)
        return fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0
                   ? CSE_OK
                   : cse_fail(CSE_IO, "tune-precision: standard output: %s", strerror(errno));
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return cse_fail(CSE_CANNOT_CREATE, "tune-precision: %s cannot be created: %s", path,
                        strerror(errno));
    bool written = write(file, text->data, text->size) == (ssize_t)text->size;
    int failure = errno;
    if (close(file) != 0 || !written)
        return cse_fail(CSE_IO, "tune-precision: %s cannot be written: %s", path,
                        strerror(failure));
    return CSE_OK;
}

static cse_status search(const cse_command_line *line, cse_tuning_options *o, search_output *shown)
{
    cse_tuning tuning = { 0 };
    cse_text output = { 0 }, text = { 0 };
    cse_status status = read_options(line, o, &output);
    shown->progress.steps = o->steps;
    if (status == CSE_OK && shown->json && strcmp(output.data, "-") == 0)
        status = cse_fail(CSE_USAGE, "tune-precision: --json and --output - both write to standard "
                                     "output; name a file with --output");
    if (status == CSE_OK) {
        cse_rows_open(&shown->progress);
        cse_rows_begin(&shown->progress, "fp32");
        status = cse_tuning_run(o, &tuning);
        cse_rows_close(&shown->progress);
    }
    if (status == CSE_OK)
        status = cse_tuning_print(o, &tuning, &text);
    if (status == CSE_OK)
        status = write_file(output.data, &text);
    if (status == CSE_OK && shown->json)
        print_end_json(output.data, &tuning);
    else if (status == CSE_OK && strcmp(output.data, "-") != 0)
        cse_print_to(stderr, "Written: %s\n", output.data);
    cse_tuning_clear(&tuning);
    cse_text_clear(&output);
    cse_text_clear(&text);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job = { 0 };
    search_output shown = { .json = cse_option_is_on(line, "json"),
                            .quiet = cse_option_is_on(line, "quiet"),
                            .progress = { .word = "training", .at_most = true } };
    const char **settings = cse_option_all_values(line, "set");
    cse_tuning_options o = { .config = line->arguments[0],
                             .settings = settings,
                             .job = &job.settings,
                             .tolerance = 0.01,
                             .steps = 200,
                             .format = "bfloat16",
                             .preset = "mp2",
                             .self = &shown,
                             .on_start = show_start,
                             .on_trial = show_trial,
                             .on_step = note_step };
    shown.progress.quiet = shown.json || shown.quiet;
    cse_status status = cse_job_prepare(line, CSE_JOB_COMPILE, &job);
    if (status == CSE_OK)
        status = search(line, &o, &shown);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_job_clear(&job);
    free(settings);
    return exit_code;
}

static const cse_option options[] = {
    { "tolerance", "X", NULL,
      "accepted relative difference of the loss from float32's; default 0.01" },
    { "steps", "N", NULL, "training steps of each trial; default 200" },
    { "fp16_type", "TYPE", NULL, "bfloat16 (default), float16 or cbfloat16" },
    { "preset", "NAME", NULL, "GraphAMP preset of the lowered layers: mp1 to mp4; default mp2" },
    { "output", "FILE", NULL, "configuration to write, - for stdout; default CONFIG.tuned.yaml" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL,
      "prints one line of JSON per trial, when it is done, and for the result" },
    { "quiet", NULL, NULL, "prints only the name of the file that was written" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "tune-precision configs/fc_mnist.yaml --tolerance 0.02", "writes fc_mnist.tuned.yaml" },
    { 0 },
};

static const cse_command_note files[] = {
    { "CONFIG.tuned.yaml", "the configuration that was found, with the trials in comments" },
    { 0 },
};

const cse_command cse_command_tune_precision = {
    .name = "tune-precision",
    .group = CSE_GROUP_MEASURE,
    .summary = "finds the lowest precision of each layer that keeps the loss",
    .arguments = "CONFIG.yaml",
    .doc =
        "Trains the configuration in float32, then searches by bisection over layers and levels\n"
        "(fp32, POL 0, 1, 2) with emulated accumulation, and writes the result as a\n"
        "configuration with the trials in comments.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "fp16_type=bfloat16|float16|cbfloat16 preset=mp1|mp2|mp3|mp4",
    .examples = examples,
    .files = files,
    .computes = true,
    .run = run,
};
