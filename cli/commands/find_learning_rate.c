/* `csengine find-learning-rate`: a training whose learning rate grows, its loss as a curve in text,
 * and the rates that the curve suggests (run/measure/rate_finder.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/row_progress.h"
#include "run/measure/rate_finder.h"

enum { SHOWN_ROWS = 24, BAR_COLUMNS = 50 };

typedef struct finding {
    bool json;
    cse_row_progress progress;
} finding;

static void note_step(void *self, int64_t step)
{
    cse_rows_step(&((finding *)self)->progress, step);
}

static cse_status read_options(const cse_command_line *line, cse_rate_finder_options *o)
{
    static const double rates[] = { 1e-12, 1e6 }, shares[] = { 0, 0.999 }, factors[] = { 1, 1e9 };
    static const int64_t steps[] = { 3, 1000000 };
    CSE_TRY(cse_option_number(line, "first", rates, &o->first));
    CSE_TRY(cse_option_number(line, "last", rates, &o->last));
    CSE_TRY(cse_option_integer(line, "steps", steps, &o->steps));
    CSE_TRY(cse_option_number(line, "smoothing", shares, &o->smoothing));
    CSE_TRY(cse_option_number(line, "divergence", factors, &o->divergence));
    return o->first < o->last
               ? CSE_OK
               : cse_fail(CSE_USAGE, "find-learning-rate: --first %g is not below --last %g",
                          o->first, o->last);
}

/* ---- what was found ---- */

static double suggested(const cse_found_rates *f)
{
    return f->steepest >= 0 ? f->points[f->steepest].rate : f->points[f->least].rate / 10;
}

static void print_json(const cse_found_rates *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        json_t *point = json_pack("{s:s, s:I, s:f, s:f, s:f}", "event", "point", "step",
                                  (json_int_t)i + 1, "rate", f->points[i].rate, "loss",
                                  f->points[i].loss, "smoothed", f->points[i].smoothed);
        cse_json_print(point);
        json_decref(point);
    }
    json_t *end =
        json_pack("{s:s, s:I, s:b, s:f, s:f, s:f}", "event", "end", "steps", (json_int_t)f->count,
                  "diverged", f->diverged, "rate_of_least_loss", f->points[f->least].rate,
                  "tenth_of_it", f->points[f->least].rate / 10, "suggestion", suggested(f));
    json_object_set_new(end, "steepest",
                        f->steepest >= 0 ? json_real(f->points[f->steepest].rate) : json_null());
    cse_json_print(end);
    json_decref(end);
}

/* Every so many steps a row, with the least and the steepest ones. */
static void print_curve(const cse_found_rates *f)
{
    const int64_t every = (f->count + SHOWN_ROWS - 1) / SHOWN_ROWS;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < f->count; i++) {
        low = fmin(low, f->points[i].smoothed);
        high = fmax(high, f->points[i].smoothed);
    }
    /* One that diverged would leave no room for the part that matters. */
    high = fmin(high, fmax(2 * f->points[0].smoothed - low, f->points[0].smoothed));
    printf("%12s %12s\n", "rate", "loss");
    for (int64_t i = 0; i < f->count; i++) {
        if (i % every != 0 && i != f->least && i != f->steepest)
            continue;
        const double share = high > low ? (f->points[i].smoothed - low) / (high - low) : 0;
        const int columns = (int)(fmin(share, 1) * BAR_COLUMNS);
        printf("%12.4g %12.6g  %.*s%s\n", f->points[i].rate, f->points[i].smoothed, columns,
               "##################################################",
               i == f->steepest ? "  <- steepest"
               : i == f->least  ? "  <- least"
                                : "");
    }
}

static void print_found(const cse_found_rates *f)
{
    const double least = f->points[f->least].rate;
    print_curve(f);
    if (f->diverged)
        printf("The loss diverged at a rate of %.3g.\n", f->points[f->count - 1].rate);
    printf("Least loss at %.3g; a tenth of that rate: %.3g\n", least, least / 10);
    if (f->steepest >= 0)
        printf("Steepest fall at %.3g\n", f->points[f->steepest].rate);
    printf("Suggestion: %.3g\n", suggested(f));
}

/* ---- the command ---- */

static cse_status find(const cse_command_line *line, cse_rate_finder_options *o, finding *shown)
{
    cse_found_rates found = { .points = NULL };
    CSE_TRY(read_options(line, o));
    shown->progress.steps = o->steps;
    cse_rows_open(&shown->progress);
    cse_rows_begin(&shown->progress, "");
    cse_status status = cse_rates_find(o, &found);
    cse_rows_close(&shown->progress);
    if (status == CSE_OK && shown->json)
        print_json(&found);
    else if (status == CSE_OK)
        print_found(&found);
    cse_found_rates_clear(&found);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job = { 0 };
    finding shown = { .json = cse_option_is_on(line, "json"),
                      .progress = { .word = "training", .rows = 1 } };
    const char **settings = cse_option_all_values(line, "set");
    cse_rate_finder_options o = { .config = line->arguments[0],
                                  .settings = settings,
                                  .first = 1e-7,
                                  .last = 10,
                                  .steps = 100,
                                  .smoothing = 0.9,
                                  .divergence = 4,
                                  .self = &shown,
                                  .on_step = note_step };
    shown.progress.quiet = shown.json || cse_option_is_on(line, "quiet");
    cse_status status = cse_job_prepare(line, CSE_JOB_COMPILE, &job);
    if (status == CSE_OK)
        status = find(line, &o, &shown);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_job_clear(&job);
    free(settings);
    return exit_code;
}

static const cse_option options[] = {
    { "first", "RATE", NULL, "learning rate of the first step; default 1e-7" },
    { "last", "RATE", NULL, "learning rate of the last step; default 10" },
    { "steps", "N", NULL, "training steps; default 100" },
    { "smoothing", "X", NULL, "weight of the losses before in the smoothed loss; default 0.9" },
    { "divergence", "X", NULL,
      "ends when the smoothed loss is X times its least value; default 4" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL, "prints a line of JSON for each step, and for the result" },
    { "quiet", NULL, NULL, "prints only the result" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "find-learning-rate configs/fc_mnist.yaml", "the curve of the loss, and a suggestion" },
    { "find-learning-rate configs/fc_mnist.yaml --first 1e-4 --last 1 --steps 200",
      "a part of it, more closely" },
    { 0 },
};

const cse_command cse_command_find_learning_rate = {
    .name = "find-learning-rate",
    .group = CSE_GROUP_MEASURE,
    .summary = "trains with a growing learning rate, and suggests one",
    .arguments = "CONFIG.yaml",
    .doc =
        "Trains with a learning rate that grows from step to step by the same factor, until the\n"
        "loss diverges, in a folder of its own: model_dir is not touched, and validations,\n"
        "checkpoints and schedulers of the configuration are left out. Prints the smoothed loss,\n"
        "and the rates where it falls the fastest and where it is least. Suggests the former.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
