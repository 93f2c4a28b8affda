/* `csengine sweep-precision`: a model's loss in each precision as a Markdown table, as in the
 * documentation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"
#include "cli/json_values.h"
#include "cli/option_values.h"
#include "cli/report.h"
#include "run/measure/precision_sweep.h"

typedef struct table {
    bool json;
    const char *config;
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
    cse_json_print(object);
    json_decref(object);
}

static void print_row(void *self, const cse_sweep_row *r)
{
    const table *t = self;
    const char *message = r->result->message;
    if (t->json)
        print_json(t, r);
    else if (isfinite(r->loss))
        printf("| %s | %s | %s | %.5f | %+.3f %% |\n", r->format, r->level, r->preset, r->loss,
               100 * r->change);
    else
        printf("| %s | %s | %s | - | %s |\n", r->format, r->level, r->preset,
               message[0] != '\0' ? message : "the loss is no number");
    fflush(stdout);
}

static int run(const cse_command_line *line)
{
    static const int64_t range[] = { 1, 1000000000 };
    int64_t steps = 500;
    const char **settings = cse_option_all_values(line, "set");
    cse_status status = cse_option_integer(line, "steps", range, &steps);
    for (int i = 0; i < line->argument_count && status == CSE_OK; i++) {
        table t = { .json = cse_option_is_on(line, "json"), .config = line->arguments[i] };
        if (!t.json)
            printf("\n### %s, %lld steps\n\n| format | POL | preset | final loss | against fp32 |\n"
                   "|---|---|---|---|---|\n",
                   t.config, (long long)steps);
        status = cse_sweep_run(
            &(cse_sweep){ .variants = { .config = t.config, .settings = settings, .steps = steps },
                          .self = &t,
                          .on_row = print_row });
    }
    free(settings);
    return cse_report(status);
}

static const cse_option options[] = {
    { "steps", "N", NULL, "training steps of each row; default 500" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL, "prints one line of JSON per row" },
    { 0 },
};

const cse_command cse_command_sweep_precision = {
    .name = "sweep-precision",
    .summary = "trains in each 16-bit format, POL and GraphAMP preset and shows the losses",
    .arguments = "CONFIG.yaml...",
    .doc = "Prints a Markdown table: the mean loss over the last tenth of the steps, and its\n"
           "difference from that in float32.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 16,
    .run = run,
};
