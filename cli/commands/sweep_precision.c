/* `csengine sweep-precision`: what each precision does to a model's loss, side by side.
 *
 * Each configuration is trained in float32, and then in each 16-bit format at each precision
 * optimization level (sums carried as an accelerator would) and with each GraphAMP preset. The
 * result is a table in Markdown, which is how the tables of the documentation are made. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/json_values.h"
#include "cli/report.h"
#include "run/measure/variants.h"

/* A row of the table: settings of the section `precision`. */
typedef struct row {
    const char *format, *level, *preset; /* as the table shows them */
    const char *settings[8];
} row;

#define FP16 "precision.fp16_type="
#define POL(n) "precision.precision_opt_level=" #n
#define PRESET(n) "precision.graphamp.preset=" #n
#define EMULATED "precision.emulate_accumulation=true"
#define DYNAMIC "precision.loss_scaling_factor=dynamic"
#define ENABLED "precision.enabled=true"

#define ROWS(name, type, scaling)                                                   \
    { name, "0", "by POL", { ENABLED, FP16 type, POL(0), EMULATED, scaling } },     \
        { name, "1", "by POL", { ENABLED, FP16 type, POL(1), EMULATED, scaling } }, \
        { name, "2", "by POL", { ENABLED, FP16 type, POL(2), EMULATED, scaling } }, \
        { name, "0", "mp0", { ENABLED, FP16 type, POL(0), PRESET(mp0), scaling } }, \
        { name, "0", "mp1", { ENABLED, FP16 type, POL(0), PRESET(mp1), scaling } }, \
        { name, "0", "mp2", { ENABLED, FP16 type, POL(0), PRESET(mp2), scaling } }, \
        { name, "0", "mp3", { ENABLED, FP16 type, POL(0), PRESET(mp3), scaling } }, \
    {                                                                               \
        name, "0", "mp4",                                                           \
        {                                                                           \
            ENABLED, FP16 type, POL(0), PRESET(mp4), scaling                        \
        }                                                                           \
    }

static const row rows[] = {
    { "fp32", "-", "-", { "precision.enabled=false" } },
    ROWS("bf16", "bfloat16", NULL),
    ROWS("fp16, dynamic scaling", "float16", DYNAMIC),
    ROWS("cb16, dynamic scaling", "cbfloat16", DYNAMIC),
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

typedef struct table {
    bool json;
    const char *config;
    double reference; /* the loss in float32 */
} table;

static void print_head(const table *t, int64_t steps)
{
    if (t->json)
        return;
    printf("\n### %s, %lld steps\n\n"
           "| format | POL | preset | final loss | against fp32 |\n|---|---|---|---|---|\n",
           t->config, (long long)steps);
}

static void print_row(const table *t, const row *r, const cse_variant_result *result, double loss)
{
    const double parted = 100 * (loss - t->reference) / fabs(t->reference);
    if (t->json) {
        json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:f, s:i}", "config", t->config, "format",
                                   r->format, "precision_opt_level", r->level, "preset", r->preset,
                                   "seconds", result->seconds, "exit_code", result->exit_code);
        if (isfinite(loss)) {
            json_object_set_new(object, "final_loss", json_real(loss));
            json_object_set_new(object, "percent_against_fp32", json_real(parted));
        } else {
            json_object_set_new(object, "message", json_string(result->message));
        }
        cse_json_print(object);
        json_decref(object);
    } else if (isfinite(loss)) {
        printf("| %s | %s | %s | %.5f | %+.3f %% |\n", r->format, r->level, r->preset, loss,
               parted);
    } else {
        printf("| %s | %s | %s | - | %s |\n", r->format, r->level, r->preset,
               result->message[0] != '\0' ? result->message : "the loss is no number");
    }
    fflush(stdout);
}

static cse_status sweep(const cse_command_line *line, const char *config, int64_t steps)
{
    const char *settings[64];
    int count = 0;
    for (int i = 0; i < line->option_count && count < 63; i++)
        if (strcmp(line->options[i].option->name, "set") == 0)
            settings[count++] = line->options[i].value;
    settings[count] = NULL;
    const cse_variants_options options = { .config = config, .settings = settings, .steps = steps };
    table t = { .json = cse_option_is_on(line, "json"), .config = config };
    cse_variants *variants = NULL;
    CSE_TRY(cse_variants_new(&options, &variants));
    print_head(&t, steps);
    cse_status status = CSE_OK;
    for (int i = 0; i < ROW_COUNT && status == CSE_OK; i++) {
        cse_variant_result result;
        status = cse_variants_run(variants, rows[i].settings, &result);
        double loss = cse_variant_final_loss(&result);
        if (i == 0)
            t.reference = loss;
        if (status == CSE_OK && !isfinite(t.reference))
            status = cse_fail(CSE_FAILED,
                              "sweep-precision: the training in float32, which all else is "
                              "compared with, did not reach its end: %s",
                              result.message[0] != '\0' ? result.message : "no loss");
        if (status == CSE_OK)
            print_row(&t, &rows[i], &result, loss);
        cse_variant_result_clear(&result);
    }
    cse_variants_destroy(&variants);
    return status;
}

static int run(const cse_command_line *line)
{
    const char *given = cse_option_value(line, "steps");
    char *end = NULL;
    long steps = given != NULL ? strtol(given, &end, 10) : 500;
    if (steps < 1 || steps > 1000000000 || (end != NULL && (*end != '\0' || end == given)))
        return cse_report(cse_fail(CSE_USAGE,
                                   "sweep-precision: --steps %s: accepted: an integer from 1 to "
                                   "1000000000",
                                   given));
    cse_status status = CSE_OK;
    for (int i = 0; i < line->argument_count && status == CSE_OK; i++)
        status = sweep(line, line->arguments[i], steps);
    return cse_report(status);
}

static const cse_option options[] = {
    { "steps", "N", NULL, "training steps of each row; the default is 500" },
    { "set", "PATH=VALUE", NULL, "changes any setting" },
    { "json", NULL, NULL, "JSON lines, one a row" },
    { 0 },
};

const cse_command cse_command_sweep_precision = {
    .name = "sweep-precision",
    .summary = "trains in each format, level and preset and shows the losses",
    .arguments = "CONFIG.yaml...",
    .doc = "Prints a table in Markdown: the mean loss of the last tenth of the steps, beside\n"
           "float32's.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 16,
    .run = run,
};
