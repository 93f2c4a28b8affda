/* `csengine tune-precision`: finds the lowest precision of each layer that keeps the loss
 * (run/measure/precision_tuning.h), and writes it as a configuration with the trials in comments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/option_values.h"
#include "cli/report.h"
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

static void show_start(void *self, int layer_count, double loss_float32)
{
    (void)self;
    fprintf(stderr, "%d layers, loss in float32 %.6g\n%s\n", layer_count, loss_float32,
            cse_tuning_heads);
}

static void show_trial(void *self, const cse_tuning_trial *trial)
{
    cse_text row = { 0 };
    (void)self;
    cse_tuning_print_trial(trial, &row);
    fprintf(stderr, "%s\n", row.data);
    cse_text_clear(&row);
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
    fprintf(stderr, "Written: %s\n", path);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job = { 0 };
    cse_tuning tuning = { 0 };
    cse_text output = { 0 }, text = { 0 };
    const char **settings = cse_option_all_values(line, "set");
    cse_tuning_options o = { .config = line->arguments[0],
                             .settings = settings,
                             .job = &job.settings,
                             .tolerance = 0.01,
                             .steps = 200,
                             .format = "bfloat16",
                             .preset = "mp2",
                             .on_start = show_start,
                             .on_trial = show_trial };
    cse_status status = read_options(line, &o, &output);
    if (status == CSE_OK)
        status = cse_job_prepare(line, CSE_JOB_COMPILE, &job);
    if (status == CSE_OK)
        status = cse_tuning_run(&o, &tuning);
    if (status == CSE_OK)
        status = cse_tuning_print(&o, &tuning, &text);
    if (status == CSE_OK)
        status = write_file(output.data, &text);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_tuning_clear(&tuning);
    cse_job_clear(&job);
    cse_text_clear(&output);
    cse_text_clear(&text);
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
    { 0 },
};

const cse_command cse_command_tune_precision = {
    .name = "tune-precision",
    .summary = "finds the lowest precision of each layer that keeps the loss of float32",
    .arguments = "CONFIG.yaml",
    .doc =
        "Trains the configuration in float32, then searches by bisection over layers and levels\n"
        "(fp32, POL 0, 1, 2) with emulated accumulation, and writes the result as a\n"
        "configuration with the trials in comments.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
