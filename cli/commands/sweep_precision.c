/* `csengine sweep-precision`: a model's loss in each precision as a Markdown table, as in the
 * documentation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/row_progress.h"
#include "run/measure/precision_sweep.h"

typedef struct table {
    bool json;
    const char *config;
    cse_row_progress progress; /* over the tables of all configurations */
} table;

static void print_json(const table *t, const cse_sweep_row *r)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:f, s:i}", "config", t->config, "format",
                               r->format, "precision_opt_level", r->level, "preset", r->preset,
                               "seconds", r->result->seconds, "exit_code", r->result->exit_code);
    if (isfinite(r->loss)) {
        json_object_set_new(object, "final_loss", json_real(r->loss));
        json_object_set_new(object, "percent_against_fp32", json_real(100 * r->change));
    } else {
        json_object_set_new(object, "message", json_string(r->result->message));
    }
    json_object_set_new(object, "row", json_integer(t->progress.done));
    json_object_set_new(object, "rows", json_integer(t->progress.rows));
    json_object_set_new(object, "seconds_left",
                        cse_json_finite(cse_rows_seconds_left(&t->progress)));
    cse_json_print(object);
    json_decref(object);
}

static void begin_row(void *self, const cse_sweep_row *r)
{
    table *t = self;
    char name[64];
    snprintf(name, sizeof name, "%s %s%s", r->format, r->preset[0] == 'm' ? "" : "POL ",
             r->preset[0] == 'm' ? r->preset : r->level);
    cse_rows_begin(&t->progress, r->number == 1 ? r->format : name);
}

static void note_step(void *self, int64_t step)
{
    cse_rows_step(&((table *)self)->progress, step);
}

static void print_row(void *self, const cse_sweep_row *r)
{
    table *t = self;
    const char *message = r->result->message;
    cse_rows_lock_done(&t->progress);
    if (t->json)
        print_json(t, r);
    else if (isfinite(r->loss))
        cse_print("| %s | %s | %s | %.5f | %+.3f %% |\n", r->format, r->level, r->preset, r->loss,
                  100 * r->change);
    else
        cse_print("| %s | %s | %s | - | %s |\n", r->format, r->level, r->preset,
                  message[0] != '\0' ? message : "the loss is no number");
    fflush(stdout);
    cse_rows_unlock(&t->progress);
}

static int run(const cse_command_line *line)
{
    static const int64_t range[] = { 1, 1000000000 };
    int64_t steps = 500;
    const char **settings = cse_option_all_values(line, "set");
    cse_status status = cse_option_integer(line, "steps", range, &steps);
    table t = { .json = cse_option_is_on(line, "json"),
                .progress = { .word = "row",
                              .rows = line->argument_count * cse_sweep_row_count(),
                              .steps = steps } };
    t.progress.quiet = t.json || cse_option_is_on(line, "quiet");
    if (status == CSE_OK)
        cse_rows_open(&t.progress);
    for (int i = 0; i < line->argument_count && status == CSE_OK; i++) {
        t.config = line->arguments[i];
        cse_live_line_lock(t.progress.line);
        if (!t.json)
            cse_print(
                "\n### %s, %lld steps\n\n| format | POL | preset | final loss | against fp32 |\n"
                "|---|---|---|---|---|\n",
                t.config, (long long)steps);
        fflush(stdout);
        cse_live_line_unlock(t.progress.line);
        status = cse_sweep_run(&(cse_sweep){ .variants = { .config = t.config,
                                                           .settings = settings,
                                                           .steps = steps,
                                                           .self = &t,
                                                           .on_step = note_step },
                                             .self = &t,
                                             .on_begin = begin_row,
                                             .on_row = print_row });
    }
    cse_rows_close(&t.progress);
    free(settings);
    return cse_report(status);
}

static const cse_option options[] = {
    { "steps", "N", NULL, "training steps of each row; default 500" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL, "prints one line of JSON per row, when it is done" },
    { "quiet", NULL, NULL, "prints only the table, not the time left" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "sweep-precision configs/fc_mnist.yaml --steps 200",
      "the final loss in each precision, as a table" },
    { 0 },
};

const cse_command cse_command_sweep_precision = {
    .name = "sweep-precision",
    .group = CSE_GROUP_MEASURE,
    .summary = "trains in each format, POL and preset and shows the losses",
    .arguments = "CONFIG.yaml...",
    .doc =
        "Prints a Markdown table: the mean loss over the last tenth of the steps, and its\n"
        "difference from that in float32. Each row is printed when it is done; stderr shows the\n"
        "time left.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 16,
    .examples = examples,
    .computes = true,
    .run = run,
};
